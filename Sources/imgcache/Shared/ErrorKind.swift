import DiskStore
import ImageCache
import Transfer

/// The stable name of an error in `kind` of `--json`, more specific than the exit code.
enum ErrorKind {
    /// The kinds that mean that the store has no space.
    static let outOfSpace: Set<String> = ["held", "full"]

    static func word(for error: any Error) -> String {
        switch error {
        case let failure as Failure: failure.kind ?? word(for: failure.status)
        case let error as ImageCacheError: word(for: error)
        case let error as StoreError: error.code == .exists ? "exists" : "output"
        case is CancellationError: "cancelled"
        default: "output"
        }
    }

    static func word(for error: ImageCacheError) -> String {
        // The store's reason for this error is `full`.
        if let cause = error.cause as? StoreError, cause.code == .held { return "held" }
        if let transfer = (error.cause as? TransferError)?.code {
            if transfer == .badRedirect || transfer == .tooManyRedirects { return "redirect" }
            if transfer == .tooLarge { return "too-large" }
        }
        if error.code.statusCode != nil { return "status" }
        if error.code.codecCode != nil { return "undecodable" }
        if let reason = error.code.storeReason { return word(for: reason) }
        return words[error.code] ?? "other"
    }

    private static let words: [ImageCacheError.Code: String] = [
        .invalidRequest: "invalid-request", .unreachable: "unreachable", .addressRefused: "address-refused",
        .wrongBytes: "wrong-bytes", .notStorable: "not-storable", .notCached: "not-cached", .cancelled: "cancelled",
        .digestUnavailable: "digest-unavailable",
    ]

    private static func word(for reason: ImageCacheError.StoreReason) -> String {
        switch reason {
        case .full: "full"
        case .tooLarge: "too-large"
        case .notWritable: "not-writable"
        case .damaged: "damaged"
        case .exists: "exists"
        case .foreign: "foreign"
        case .absent: "absent"
        case .newer: "newer"
        case .busy: "busy"
        case .io: "io"
        }
    }

    private static func word(for status: ExitStatus) -> String {
        switch status {
        case .done: "none"
        case .usage: "usage"
        case .unreachable: "unreachable"
        case .serverError: "status"
        case .wrongBytes: "wrong-bytes"
        case .store: "output"
        case .offline: "not-cached"
        case .interrupted: "cancelled"
        case .brokenPipe: "output"
        }
    }
}
