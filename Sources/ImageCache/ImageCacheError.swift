public import FoundationEssentials
import HTTPSemantics
public import ImageCodec

/// An error of the cache, with the affected URL or path.
public struct ImageCacheError: Error, Sendable {
    /// The kind of failure. Kinds may be added, so a `switch` needs a default case.
    public struct Code: Hashable, Sendable {
        private enum Kind: Hashable, Sendable {
            case invalidRequest, unreachable, addressRefused, status(Int), wrongBytes, store(StoreReason), notStorable,
                notCached
            case cancelled, digestUnavailable, undecodableValue, undecodable(ImageCodecError.Code)
        }

        private let kind: Kind

        /// The URL or an option of the request is invalid.
        public static let invalidRequest = Code(kind: .invalidRequest)
        /// The origin could not be reached: the failure of DNS, connection or TLS, a time-out, or an interruption after all retries.
        public static let unreachable = Code(kind: .unreachable)
        /// The address of the host, or of a redirect's host, is refused by ``DownloadCache/Configuration/addressPolicy``.
        public static let addressRefused = Code(kind: .addressRefused)
        /// The origin responded with an error status (RFC 9110 section 15).
        public static func status(_ code: Int) -> Code { Code(kind: .status(code)) }
        /// The bytes differ from the declared or requested length, checksum or representation.
        public static let wrongBytes = Code(kind: .wrongBytes)
        /// The disk store failed.
        public static func store(_ reason: StoreReason) -> Code { Code(kind: .store(reason)) }
        /// The response must not be stored, but the request requires it.
        public static let notStorable = Code(kind: .notStorable)
        /// Nothing usable is stored, and the policy forbids a request to the origin.
        public static let notCached = Code(kind: .notCached)
        /// The request was cancelled.
        public static let cancelled = Code(kind: .cancelled)
        /// libcrypto, which computes SHA-256, cannot be opened.
        public static let digestUnavailable = Code(kind: .digestUnavailable)

        /// The file is not an image that can be decoded, or exceeds the limits of the decoder.
        public static func undecodable(_ code: ImageCodecError.Code) -> Code { Code(kind: .undecodable(code)) }

        /// The body could not be decoded to the value, or a value could not be encoded.
        public static let undecodableValue = Code(kind: .undecodableValue)

        /// The error code of the codec for an `undecodable` file.
        public var codecCode: ImageCodecError.Code? { if case .undecodable(let code) = kind { code } else { nil } }
        /// The status code of an error status.
        public var statusCode: Int? { if case .status(let code) = kind { code } else { nil } }
        /// The reason of a failure of the store.
        public var storeReason: StoreReason? { if case .store(let reason) = kind { reason } else { nil } }
    }

    /// The reason of a failure of the disk store.
    public enum StoreReason: Hashable, Sendable {
        /// The disk or the capacity is full, and nothing more can be evicted.
        case full
        /// The body is larger than the store's capacity or than the request's limit.
        case tooLarge
        /// The directory cannot be created or written.
        case notWritable
        /// The index is damaged and could not be rebuilt.
        case damaged
        /// The target of an export exists.
        case exists
        /// The directory is not a cache and not empty; it was not changed.
        case foreign
        /// The directory is not a cache, and should not be created.
        case absent
        /// The cache was created by a newer version; it was not changed.
        case newer
        /// Another process, which may be stopped, has locked the index for longer than `StoreConfiguration.busyTimeout`.
        case busy
        /// Any other failure of the file system or the index.
        case io
    }

    public var code: Code
    /// The URL of the request, without userinfo.
    public var url: String?
    /// The path of the affected file or directory.
    public var path: String?
    /// A sentence that states the failure and, if there is one, the remedy.
    public var message: String
    public var cause: (any Error)?
    /// The number of body bytes received from the network before the failure, over all attempts.
    public var bytesTransferred: Int64 = 0

    public init(
        _ code: Code, url: String? = nil, path: String? = nil, message: String, cause: (any Error)? = nil
    ) {
        self.code = code
        self.url = url
        self.path = path
        self.message = message
        self.cause = cause
    }

    /// The error with the URL of the request, without credentials, unless it has a URL.
    func with(url: String) -> ImageCacheError {
        var error = self
        error.url = URLText.separatingUserinfo(error.url ?? url).url
        return error
    }
}

extension ImageCacheError.Code: CustomStringConvertible {
    /// The code's name, with its status or reason: `status(404)`, `store(full)`, `addressRefused`.
    public var description: String {
        switch kind {
        case .invalidRequest: "invalidRequest"
        case .unreachable: "unreachable"
        case .addressRefused: "addressRefused"
        case .status(let code): "status(\(code))"
        case .wrongBytes: "wrongBytes"
        case .store(let reason): "store(\(reason))"
        case .notStorable: "notStorable"
        case .notCached: "notCached"
        case .cancelled: "cancelled"
        case .digestUnavailable: "digestUnavailable"
        case .undecodableValue: "undecodableValue"
        case .undecodable(let code): "undecodable(\(code))"
        }
    }
}

extension ImageCacheError: CustomStringConvertible, LocalizedError {
    /// The message, preceded by the URL or path unless the message contains it.
    public var description: String {
        // The messages of modules usually contain it.
        guard let subject = url ?? path else { return message }
        if subject.isEmpty { return "\"\": \(message)" }
        return message.contains(subject) ? message : "\(subject): \(message)"
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
