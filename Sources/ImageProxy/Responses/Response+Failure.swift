import HTTPServer
import HTTPTypes
import ImageCache
import Transfer

extension Response {
    /// The response to a client when there is none of the origin's (RFC 9110 section 15.6): 504 when it took too long, 502 when
    /// it could not be reached or broke off, 503 when it is the cache that cannot. Addresses and paths stay in the log.
    init(failure error: ImageCacheError) {
        self =
            switch error.code {
            case .addressRefused:
                .failure(403, "address-refused", "The origin is not at an address that may be asked.")
            case .unreachable where error.isTimeout:
                .failure(504, "origin-timeout", "The origin did not answer in time.")
            case .unreachable: .failure(502, "origin-unreachable", "The origin could not be reached, or broke off.")
            case .wrongBytes: .failure(502, "origin-wrong-bytes", "The origin's answer was not what it promised.")
            case .store(.tooLarge): .failure(502, "too-large", "The origin's answer is larger than is allowed here.")
            case .notCached: .failure(504, "not-cached", "It is not stored here, and the origin was not to be asked.")
            case .invalidRequest: .failure(400, "bad-request", "The request cannot be passed on.")
            case .cancelled: .failure(503, "cancelled", "The transfer was stopped.", fields: [.retryAfter: "1"])
            case let code where code.storeReason != nil:
                .failure(503, "store", "The cache's store cannot be used.", fields: [.retryAfter: "10"])
            case let code where code.statusCode != nil:
                .failure(code.statusCode ?? 502, "origin-status", "The origin answered with an error.")
            default: .failure(500, "internal", "The request could not be answered.")
            }
        detail = error.description
    }
}

extension ImageCacheError {
    /// True if something took too long.
    fileprivate var isTimeout: Bool {
        guard let cause = cause as? TransferError else { return false }
        return cause.code == .timeout || cause.code == .stalled
    }
}
