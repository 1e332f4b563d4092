import HTTPSemantics
import ImageCache
import Transfer

/// The result for one URL.
struct FetchResult: RunResult {
    var url: String
    var finalURL: String?
    var status: Int?
    var source: String?
    /// The path in the cache, where the file remains until the command ends; nil if it was delivered elsewhere.
    var path: String?
    /// The path of the delivered file, or `path`.
    var output: String?
    var size: Int64?
    var bytesTransferred: Int64 = 0
    var resumedFrom: Int64 = 0
    var etag: String?
    var lastModified: String?
    var contentType: String?
    var sha256: String?
    /// The field `Cache-Status` (RFC 9211) of the response.
    var cacheStatus: String?
    var seconds = 0.0
    var exitStatus = ExitStatus.done
    var error: String?
    /// The kind of the error: see ``ErrorKind``.
    var kind: String?
    /// The number of bytes that a failed or interrupted download keeps for the next run.
    var kept: Int64 = 0
    var total: Int64?

    init(url: String) { self.url = url }

    mutating func fill(from file: CachedFile, sha256: String?) {
        finalURL = file.finalURL
        status = file.response.status.code
        source = Self.word(for: file.source)
        cacheStatus = file.cacheStatus.description
        size = file.size
        bytesTransferred = file.bytesTransferred
        resumedFrom = file.resumedFrom
        etag = file.response.fields.first("etag")?.value
        lastModified = file.response.fields.first("last-modified")?.value
        contentType = file.response.fields.first("content-type")?.value
        self.sha256 = sha256?.lowercased()
    }

    /// Adds the cost of an earlier attempt in this run.
    mutating func add(_ earlier: FetchResult) {
        bytesTransferred += earlier.bytesTransferred
        resumedFrom = min(resumedFrom, earlier.resumedFrom)
        seconds += earlier.seconds
    }

    static func word(for source: CachedFile.Source) -> String {
        switch source {
        case .disk: "fresh"
        case .revalidated: "revalidated"
        case .stale: "stale"
        case .network: "network"
        case .networkResumed: "resumed"
        case .remote: "remote"
        }
    }

    /// - Parameter told: The error with advice for the user.
    mutating func fail(_ error: any Error, told: any Error) {
        fail(told)
        guard let error = error as? ImageCacheError else { return }
        bytesTransferred = error.bytesTransferred
        status = error.code.statusCode
    }
}

extension FetchResult {
    private enum CodingKeys: String, CodingKey {
        case url, status, source, path, output, size, etag, sha256, seconds, error, kind
        case exitStatus = "exit_code"
        case finalURL = "final_url"
        case cacheStatus = "cache_status"
        case bytesTransferred = "bytes_transferred"
        case resumedFrom = "resumed_from"
        case lastModified = "last_modified"
        case contentType = "content_type"
    }
}

extension ExitStatus {
    /// The exit code for an error.
    init(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure.status
        case let error as ImageCacheError:
            // A redirect that cannot be followed is a response, but an unexpected one.
            let transfer = (error.cause as? TransferError)?.code
            self = transfer == .badRedirect || transfer == .tooManyRedirects ? .serverError : Self(error.code)
        case is CancellationError: self = .interrupted
        default: self = .store
        }
    }

    private init(_ code: ImageCacheError.Code) {
        switch code {
        case .invalidRequest: self = .usage
        case .unreachable, .addressRefused: self = .unreachable
        case .wrongBytes: self = .wrongBytes
        case .notCached, .store(.absent): self = .offline
        case .cancelled: self = .interrupted
        default:
            if let codec = code.codecCode {
                self.init(codec)
                return
            }
            self = code.statusCode == nil ? .store : .serverError
        }
    }
}
