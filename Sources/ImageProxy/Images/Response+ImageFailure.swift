import HTTPServer
import HTTPTypes
import ImageCache
import Transfer
import URLSigning

extension Response {
    /// The response to a rejected image request: 400 if it is invalid, 403 if it is not allowed.
    init(_ error: ImageRequestError) {
        self =
            switch error {
            case .invalidOption(let error): .failure(400, error.code, error.message)
            case .host: .failure(403, "host-not-allowed", "Images of that host are not allowed.")
            case .width(nil): .failure(400, "bad-option", "The option \"width\" is required.")
            case .width(let width?): .failure(400, "bad-option", "The option \"width\" must not be \(width).")
            case .signature(.missing): .failure(403, "signature-missing", "The URL is not signed.")
            case .signature(.malformed): .failure(403, "signature-malformed", "The URL's signature is malformed.")
            case .signature(.unknownKey):
                .failure(403, "signature-key", "The URL is signed with an unknown key.")
            case .signature(.expired): .failure(403, "signature-expired", "The URL has expired.")
            case .signature(.wrong): .failure(403, "signature-wrong", "The URL's signature is wrong.")
            case .signature(.unavailable):
                .failure(503, "signature-unavailable", "Signatures cannot be verified at present.")
            }
    }

    /// The response if an image could not be made. An origin's 404 and 410 are preserved. Other error statuses become a 502 (RFC 9110
    /// section 15.6.3), except for temporary ones.
    init(imageFailure error: ImageCacheError) {
        var response: Response
        if let code = error.code.codecCode {
            response = Self.failure(codec: code, error.cause as? ImageCodecError)
        } else if let status = error.code.statusCode {
            response = Self.failure(originStatus: status)
        } else {
            switch error.code {
            case .unreachable where (error.cause as? TransferError)?.code == .badRedirect:
                response = .failure(
                    403, "redirect-refused", "The original redirects to a location that is not allowed.")
            case .addressRefused:
                response = .failure(403, "address-refused", "The original's address is not allowed.")
            case .store(.tooLarge):
                response = .failure(422, "too-large", "The original exceeds the size limit.")
            default: response = Response(failure: error)
            }
        }
        response.detail = error.description
        self = response
    }

    /// - Parameter cause: Has the original's format, if it is known.
    private static func failure(codec code: ImageCodecError.Code, _ cause: ImageCodecError?) -> Response {
        switch code {
        case .unsupportedFormat: unsupported(cause)
        case .truncated: .failure(422, "image-truncated", "The original is truncated.")
        case .corrupt: .failure(422, "image-damaged", "The original is damaged.")
        case .limitExceeded:
            .failure(422, "image-too-large", "The original or the requested image exceeds the limits for images.")
        case .invalidArgument: .failure(422, "image-unfit", "The requested image cannot be derived from the original.")
        case .crashed: .failure(422, "image-crashed", "The original made its decoder crash.")
        case .unavailable:
            .failure(
                503, "image-decoder-unavailable", "Images cannot be decoded at present.", fields: [.retryAfter: "10"])
        case .outOfMemory: .failure(503, "memory", "The memory for images is exhausted.", fields: [.retryAfter: "10"])
        default: .failure(500, "image", "The image could not be derived.")
        }
    }

    /// The formats that are read, without the last one.
    private static let mostFormats = "JPEG, PNG, WebP, GIF, AVIF, HEIF, JPEG XL, TIFF, BMP"

    private static func unsupported(_ cause: ImageCodecError?) -> Response {
        guard let cause, let format = cause.format else {
            return .failure(415, "not-an-image", "The original is not a \(mostFormats) or ICO image.")
        }
        if cause.isOfProcess {
            return .failure(415, "unsupported-format", "The original is \(format.name); \(cause.reason).")
        }
        return .failure(
            415, "unsupported-format",
            format.isSupported
                ? "The original is \(format.name) of a kind that is not supported."
                : "The original is \(format.name), which is not supported; \(mostFormats) and ICO are.")
    }

    private static func failure(originStatus status: Int) -> Response {
        switch status {
        case 404: .failure(404, "not-found", "The origin has no such image.")
        case 410: .failure(410, "gone", "The origin no longer has such an image.")
        case 401, 403, 451: .failure(403, "origin-forbids", "The origin forbids access to the image.")
        case 429, 503: .failure(503, "origin-busy", "The origin is busy.", fields: [.retryAfter: "10"])
        case 408, 504: .failure(504, "origin-timeout", "The origin did not respond in time.")
        default: .failure(502, "origin-status", "The origin responded with the status \(status).")
        }
    }
}
