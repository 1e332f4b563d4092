import HTTPSemantics

/// Heads for display, without credentials.
enum MaskedHead {
    /// The lines of a raw request or response head; values that may contain credentials are replaced by `***`.
    static func lines(_ bytes: some Collection<UInt8>) -> [String] {
        var masksContinuation = false
        return bytes.split(separator: 0x0A, omittingEmptySubsequences: true).compactMap { line in
            let text = String(decoding: line.last == 0x0D ? line.dropLast() : line[...], as: UTF8.self)
            if text.isEmpty { return nil }
            if text.first == " " || text.first == "\t" { return masksContinuation ? " ***" : MaskedText.masked(text) }
            guard let colon = text.firstIndex(of: ":") else {
                masksContinuation = false
                return MaskedText.masked(text)
            }
            masksContinuation = SecretNames.isField(text[..<colon])
            return masksContinuation ? "\(text[..<colon]): ***" : MaskedText.masked(text)
        }
    }
}
