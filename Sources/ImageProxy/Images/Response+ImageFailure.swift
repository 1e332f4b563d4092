import HTTPServer
import HTTPTypes
import ImageCache
import Transfer
import URLSigning

extension Response {
    /// The response to a request for an image that is not made: 400 for what cannot be read, 403 for what is not allowed.
    init(_ error: ImageRequestError) {
        self =
            switch error {
            case .mistake(let mistake): .failure(400, mistake.code, mistake.message)
            case .host: .failure(403, "host-not-allowed", "Images of that host are not made here.")
            case .width(nil): .failure(400, "bad-option", "The option \"width\" is needed here.")
            case .width(let width?): .failure(400, "bad-option", "The option \"width\" must not be \(width) here.")
            case .signature(.missing): .failure(403, "signature-missing", "The URL is not signed.")
            case .signature(.malformed): .failure(403, "signature-malformed", "The URL's signature cannot be read.")
            case .signature(.unknownKey):
                .failure(403, "signature-key", "The URL is signed with a key that is not known.")
            case .signature(.expired): .failure(403, "signature-expired", "The URL has expired.")
            case .signature(.wrong): .failure(403, "signature-wrong", "The URL's signature is wrong.")
            case .signature(.unavailable):
                .failure(503, "signature-unavailable", "Signatures cannot be verified here at present.")
            }
    }

    /// The response when an image could not be made. Of an origin's error statuses, 404 and 410 stay what they are; others
    /// are a bad gateway's (RFC 9110 section 15.6.3), but those that ask to come again.
    init(imageFailure error: ImageCacheError) {
        var response: Response
        if let code = error.code.codecCode {
            response = Self.failure(codec: code)
        } else if let status = error.code.statusCode {
            response = Self.failure(originStatus: status)
        } else {
            switch error.code {
            case .unreachable where (error.cause as? TransferError)?.code == .badRedirect:
                response = .failure(403, "redirect-refused", "The image is behind a redirect that is not followed.")
            case .addressRefused:
                response = .failure(403, "address-refused", "The image is not at an address that may be asked.")
            case .store(.tooLarge):
                response = .failure(422, "too-large", "The original has more bytes than are allowed here.")
            default: response = Response(failure: error)
            }
        }
        response.detail = error.description
        self = response
    }

    private static func failure(codec code: ImageCodecError.Code) -> Response {
        switch code {
        case .unsupportedFormat: .failure(415, "not-an-image", "The original is no JPEG, PNG or WebP image.")
        case .truncated: .failure(422, "image-truncated", "The original ends before its image does.")
        case .corrupt: .failure(422, "image-damaged", "The original is damaged.")
        case .limitExceeded: .failure(422, "image-too-large", "The original is larger than is allowed here.")
        case .invalidArgument: .failure(422, "image-unfit", "Such an image cannot be made of the original.")
        case .outOfMemory: .failure(503, "memory", "There is no memory for the image.", fields: [.retryAfter: "10"])
        default: .failure(500, "image", "The image could not be made.")
        }
    }

    private static func failure(originStatus status: Int) -> Response {
        switch status {
        case 404: .failure(404, "not-found", "The origin has no such image.")
        case 410: .failure(410, "gone", "The origin has no such image any more.")
        case 401, 403, 451: .failure(403, "origin-forbids", "The origin does not give the image away.")
        case 429, 503: .failure(503, "origin-busy", "The origin asks to come again later.", fields: [.retryAfter: "10"])
        case 408, 504: .failure(504, "origin-timeout", "The origin did not answer in time.")
        default: .failure(502, "origin-status", "The origin answered with the status \(status).")
        }
    }
}
