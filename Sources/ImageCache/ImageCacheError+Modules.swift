import DiskStore
import Transfer

// Translates the errors of other modules, which remain available as `cause`.

extension ImageCacheError {
    init(_ error: StoreError) {
        let reason: StoreReason =
            switch error.code {
            case .full, .held: .full
            case .tooLarge: .tooLarge
            case .notWritable: .notWritable
            case .damaged: .damaged
            case .exists: .exists
            case .foreign: .foreign
            case .absent: .absent
            case .newer: .newer
            case .busy: .busy
            default: .io
            }
        switch error.code {
        case .incomplete, .altered, .wrongLength:
            self.init(.wrongBytes, path: error.path, message: error.description, cause: error)
        case .invalidCapacity:
            self.init(.invalidRequest, path: error.path, message: error.description, cause: error)
        default:
            self.init(.store(reason), path: error.path, message: error.description, cause: error)
        }
    }

    /// True if blocks of a body were changed on disk before the commit. The valid blocks are kept and can be resumed.
    var isOfAlteredPartial: Bool { (cause as? StoreError)?.code == .altered }

    init(_ error: TransferError) {
        switch error.code {
        case .refusedBySink:
            switch error.cause {
            case let cause as ImageCacheError: self = cause
            case let cause as StoreError: self.init(cause)
            default: self.init(.store(.io), message: error.description, cause: error)
            }
            url = url ?? error.url
        case .unsupportedURL, .invalidRequest:
            self.init(.invalidRequest, url: error.url, message: error.message, cause: error)
        case .protocolViolation:
            self.init(.wrongBytes, url: error.url, message: error.message, cause: error)
        case .tooLarge:
            self.init(.store(.tooLarge), url: error.url, message: error.message, cause: error)
        case .addressRefused:
            self.init(.addressRefused, url: error.url, message: error.message, cause: error)
        case .cancelled:
            self.init(.cancelled, url: error.url, message: error.message, cause: error)
        default:
            self.init(.unreachable, url: error.url, message: error.message, cause: error)
        }
        bytesTransferred = error.bytesReceived
    }
}
