import HTTPServer
import HTTPTypes
import ImageCache
import Transfer

extension Response {
    /// The response if the origin sent none (RFC 9110 section 15.6): 504 after a time-out, 502 if the origin could not be reached or closed
    /// the connection, 503 if the cache failed. Addresses and paths are only logged.
    init(failure error: ImageCacheError) {
        self =
            switch error.code {
            case .addressRefused:
                .failure(403, "address-refused", "The origin's address is not allowed.")
            case .unreachable where error.originPause != nil:
                .failure(
                    503, "origin-left-alone", "The origin has failed, and is left alone for a while.",
                    fields: [.retryAfter: String(error.originPause?.retryAfter ?? 1)])
            case .unreachable where error.isTimeout:
                .failure(504, "origin-timeout", "The origin did not respond in time.")
            case .unreachable:
                .failure(502, "origin-unreachable", "The origin could not be reached, or closed the connection.")
            case .wrongBytes: .failure(502, "origin-wrong-bytes", "The origin's response was inconsistent.")
            case .store(.tooLarge): .failure(502, "too-large", "The origin's response exceeds the size limit.")
            case .notCached:
                .failure(504, "not-cached", "The response is not stored, and the request excludes the origin.")
            case .invalidRequest: .failure(400, "bad-request", "The request cannot be forwarded.")
            case .cancelled: .failure(503, "cancelled", "The transfer was stopped.", fields: [.retryAfter: "1"])
            case let code where code.storeReason != nil:
                .failure(503, "store", "The store is unavailable.", fields: [.retryAfter: "10"])
            case let code where code.statusCode != nil:
                .failure(code.statusCode ?? 502, "origin-status", "The origin responded with an error.")
            default: .failure(500, "internal", "The request could not be processed.")
            }
        detail = error.description
    }
}

extension ImageCacheError {
    /// The origin's pause, if that is the cause.
    fileprivate var originPause: OriginPause? { (cause as? TransferError)?.cause as? OriginPause }

    /// True for a time-out.
    fileprivate var isTimeout: Bool {
        guard let cause = cause as? TransferError else { return false }
        return cause.code == .timeout || cause.code == .stalled
    }
}
