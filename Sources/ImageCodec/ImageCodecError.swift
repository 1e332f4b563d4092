internal import CImageCodec
public import FoundationEssentials

/// A failure to read, change or write an image: a code for programs, and a reason for people.
public struct ImageCodecError: Error, Sendable, Hashable {
    /// The kind of failure; further codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        private init(_ description: String) { self.description = description }

        /// Not an image, or one of an unsupported format or kind. ``ImageCodecError/format`` is the format, if the
        /// signature identifies it.
        public static let unsupportedFormat = Code("unsupportedFormat")
        /// The bytes violate the format.
        public static let corrupt = Code("corrupt")
        /// The file ends before the image does.
        public static let truncated = Code("truncated")
        /// One of ``DecodingLimits`` would be exceeded.
        public static let limitExceeded = Code("limitExceeded")
        /// Memory could not be allocated.
        public static let outOfMemory = Code("outOfMemory")
        /// The file could not be opened or read.
        public static let unreadable = Code("unreadable")
        /// An invalid size, quality or rectangle, or one that the format does not support.
        public static let invalidArgument = Code("invalidArgument")
        /// The work was cancelled (`ImageCancellation`).
        public static let cancelled = Code("cancelled")
        /// The underlying library failed although the input is valid.
        public static let failed = Code("failed")
        /// The worker process that read, changed or wrote the image ended in the middle of it.
        public static let crashed = Code("crashed")
        /// No worker process could be started, or it stalled, for example because it was stopped. The error says nothing about the file.
        public static let unavailable = Code("unavailable")
    }

    public var code: Code
    /// The format that was being read or written, if known.
    public var format: ImageFormat?
    /// The position in the input, in bytes from its start, if known.
    public var offset: Int?
    /// The reason, one clause.
    public var reason: String
    /// True for an `unsupportedFormat` of which not the file is the reason, but the process: it lacks a library, or is not a worker.
    package var isOfProcess = false

    public init(_ code: Code, format: ImageFormat? = nil, offset: Int? = nil, _ reason: String) {
        self.code = code
        self.format = format
        self.offset = offset
        self.reason = reason
    }

    /// "unsupported format: JPEG 2000": the wording for all formats that are recognised but not read.
    static func unsupported(_ format: ImageFormat) -> ImageCodecError {
        ImageCodecError(.unsupportedFormat, format: format, "unsupported format: \(format)")
    }

    static let outOfMemory = ImageCodecError(.outOfMemory, "out of memory")
}

extension ImageCodecError: CustomStringConvertible, LocalizedError {
    /// The format, the reason, and the position in the input.
    public var description: String {
        var text = reason
        if let format, code != .unsupportedFormat { text = "\(format): \(text)" }
        if let offset { text += " (at byte \(offset))" }
        return text
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}

extension ImageCodecError {
    /// Converts an error of the C target.
    init(_ error: icodec_error, format: ImageFormat?) {
        let code: Code =
            switch Int(error.code) {
            case Int(ICODEC_UNSUPPORTED), Int(ICODEC_UNAVAILABLE): .unsupportedFormat
            case Int(ICODEC_TRUNCATED): .truncated
            case Int(ICODEC_LIMIT): .limitExceeded
            case Int(ICODEC_MEMORY): .outOfMemory
            case Int(ICODEC_IO): .unreadable
            case Int(ICODEC_INTERNAL): .failed
            case Int(ICODEC_CANCELLED): .cancelled
            default: .corrupt
            }
        let reason = withUnsafeBytes(of: error.reason) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        self.init(code, format: format, offset: error.offset < 0 ? nil : Int(error.offset), reason)
        isOfProcess = Int(error.code) == Int(ICODEC_UNAVAILABLE)
    }
}
