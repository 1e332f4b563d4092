public import FoundationEssentials
import HTTPSemantics
public import ImageCodec

/// An error of the cache, with the URL or path that it concerns.
public struct ImageCacheError: Error, Sendable {
    /// The kind of failure. Kinds may be added: match with a default case.
    public struct Code: Hashable, Sendable {
        private enum Kind: Hashable, Sendable {
            case invalidRequest, unreachable, addressRefused, status(Int), wrongBytes, store(StoreReason), notStorable,
                notCached
            case cancelled, digestUnavailable, undecodableValue, undecodable(ImageCodecError.Code)
        }

        private let kind: Kind

        /// The URL or an option of the request is invalid.
        public static let invalidRequest = Code(kind: .invalidRequest)
        /// The origin could not be reached: DNS, connect, TLS, time-out, or a cut with all retries used up.
        public static let unreachable = Code(kind: .unreachable)
        /// The host, or one that it redirects to, is at an address that ``DownloadCache/Configuration/addressPolicy`` refuses.
        public static let addressRefused = Code(kind: .addressRefused)
        /// The origin responded with an error status (RFC 9110 section 15).
        public static func status(_ code: Int) -> Code { Code(kind: .status(code)) }
        /// The bytes differ from what was declared or requested: length, checksum, or another representation.
        public static let wrongBytes = Code(kind: .wrongBytes)
        /// The disk store failed.
        public static func store(_ reason: StoreReason) -> Code { Code(kind: .store(reason)) }
        /// The origin forbids storing the response, and the request demanded that it be stored.
        public static let notStorable = Code(kind: .notStorable)
        /// Nothing usable is stored, and the policy forbids a request to the origin.
        public static let notCached = Code(kind: .notCached)
        /// The request was cancelled by its caller, or by all of them.
        public static let cancelled = Code(kind: .cancelled)
        /// libcrypto, which computes SHA-256, cannot be opened.
        public static let digestUnavailable = Code(kind: .digestUnavailable)

        /// The file is not an image that can be decoded, or exceeds the decoder's limits.
        public static func undecodable(_ code: ImageCodecError.Code) -> Code { Code(kind: .undecodable(code)) }

        /// The body is not what the value's decoder expects; or a value cannot be encoded.
        public static let undecodableValue = Code(kind: .undecodableValue)

        /// The codec's error code of an `undecodable` file.
        public var codecCode: ImageCodecError.Code? { if case .undecodable(let code) = kind { code } else { nil } }
        /// The status code of a `status` failure.
        public var statusCode: Int? { if case .status(let code) = kind { code } else { nil } }
        /// The reason of a `store` failure.
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
        /// The file to export to exists.
        case exists
        /// The directory is neither empty nor a cache; nothing in it was changed.
        case foreign
        /// There is no cache in the directory, and none was to be created.
        case absent
        /// The cache was made by a newer version; nothing in it was changed.
        case newer
        /// Another process, which may be stopped, has kept the index from being changed for `StoreConfiguration.busyTimeout`.
        case busy
        /// Any other failure of the file system or the index.
        case io
    }

    public var code: Code
    /// The URL of the request, without its userinfo.
    public var url: String?
    /// The file or directory concerned.
    public var path: String?
    /// One sentence that states the failure and, where there is one, the remedy.
    public var message: String
    public var cause: (any Error)?
    /// Bytes of bodies that crossed the network before it failed, over all attempts.
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

    /// This error with the request's URL if it names none; credentials in the URL are left out.
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
    /// The message, after the URL or path unless it names that.
    public var description: String {
        // A module's message usually names its subject already.
        guard let subject = url ?? path else { return message }
        if subject.isEmpty { return "\"\": \(message)" }
        return message.contains(subject) ? message : "\(subject): \(message)"
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
