extension Substring {
    /// The text without optional whitespace at its ends: spaces and tabs (RFC 9110 section 5.6.3).
    package var trimmed: Substring {
        var bytes = utf8.drop { $0.isWhitespace }
        while let last = bytes.last, last.isWhitespace { bytes.removeLast() }
        return Substring(bytes)
    }
}
