internal import CImageCodec

/// Why an image could not be read, changed or written: a code to decide by, and a reason that a person can act on.
public struct ImageCodecError: Error, Sendable, Hashable {
    /// What kind of failure; further ones may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        private init(_ description: String) { self.description = description }

        /// Not an image, or one of a format or kind that is not read here. ``ImageCodecError/format`` names the format
        /// where the signature tells it.
        public static let unsupportedFormat = Code("unsupportedFormat")
        /// The bytes contradict the format.
        public static let corrupt = Code("corrupt")
        /// The bytes end before the image does.
        public static let truncated = Code("truncated")
        /// One of ``DecodingLimits`` would be exceeded.
        public static let limitExceeded = Code("limitExceeded")
        /// The system gave no memory.
        public static let outOfMemory = Code("outOfMemory")
        /// The file could not be opened or read.
        public static let unreadable = Code("unreadable")
        /// A size, quality or rectangle that makes no sense, or that the format cannot hold.
        public static let invalidArgument = Code("invalidArgument")
        /// The work was cancelled (``ImageCancellation``).
        public static let cancelled = Code("cancelled")
        /// The library that does the work failed without the input being at fault.
        public static let failed = Code("failed")
    }

    public var code: Code
    /// The format that was being read or written, where it is known.
    public var format: ImageFormat?
    /// The place in the input, in bytes from its start, where it is known.
    public var offset: Int?
    /// One clause: what is wrong.
    public var reason: String

    public init(_ code: Code, format: ImageFormat? = nil, offset: Int? = nil, _ reason: String) {
        self.code = code
        self.format = format
        self.offset = offset
        self.reason = reason
    }

    /// "unsupported format: GIF", as it is worded for every format that is recognised and not read.
    static func unsupported(_ format: ImageFormat) -> ImageCodecError {
        ImageCodecError(.unsupportedFormat, format: format, "unsupported format: \(format)")
    }

    static let outOfMemory = ImageCodecError(.outOfMemory, "out of memory")
}

extension ImageCodecError: CustomStringConvertible {
    public var description: String {
        var text = reason
        if let format, code != .unsupportedFormat { text = "\(format): \(text)" }
        if let offset { text += " (at byte \(offset))" }
        return text
    }
}

extension ImageCodecError {
    /// What a function of the C target filled in.
    init(_ error: icodec_error, format: ImageFormat?) {
        let code: Code =
            switch Int(error.code) {
            case Int(ICODEC_UNSUPPORTED): .unsupportedFormat
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
    }
}
