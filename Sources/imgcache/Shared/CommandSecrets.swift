import Glibc

/// The passwords of a command line: hidden in the list of processes, and in messages.
enum CommandSecrets {
    /// The options with values that may be secret.
    static let options = ["-u", "--user", "-H", "--header", "--cert", "--proxy"]

    /// Overwrites the passwords in the arguments that the system shows of this process, such as in `ps`. `CommandLine.arguments` has been read
    /// before and keeps them.
    static func hide() {
        var isValue = false
        for index in 1..<max(Int(CommandLine.argc), 1) {
            guard let word = CommandLine.unsafeArgv[index] else { return }
            let text = String(cString: word)
            for place in secretBytes(in: text, isValue: isValue) { word[place] = CChar(UInt8(ascii: "x")) }
            isValue = options.contains(text)
        }
    }

    /// The places of a word's bytes that may be secret.
    ///
    /// - Parameter isValue: True if the word is the value of one of ``options``.
    static func secretBytes(in word: String, isValue: Bool) -> Range<Int> {
        let count = word.utf8.count
        if isValue { return 0..<count }
        for option in options where word.hasPrefix(option) {
            let isLong = option.hasPrefix("--")
            guard !isLong || word.dropFirst(option.count).first == "=" else { continue }
            return min(option.utf8.count + (isLong ? 1 : 0), count)..<count
        }
        return userinfo(in: word[...]) ?? 0..<0
    }

    /// A text without the userinfo of the URLs in it.
    static func withoutUserinfo(_ text: String) -> String {
        var bytes = Array(text.utf8)
        while let range = userinfo(in: String(decoding: bytes, as: UTF8.self)[...]) {
            bytes.removeSubrange(range.lowerBound...range.upperBound)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The bytes of the first userinfo of a URL in a text, before its `@`.
    private static func userinfo(in text: Substring) -> Range<Int>? {
        let bytes = Array(text.utf8)
        var place = 0
        while place + 2 < bytes.count {
            guard bytes[place] == UInt8(ascii: ":"), bytes[place + 1] == UInt8(ascii: "/"),
                bytes[place + 2] == UInt8(ascii: "/")
            else {
                place += 1
                continue
            }
            let start = place + 3
            let authority = bytes[start...].prefix { !"/?# '\"\n".utf8.contains($0) }
            if let end = authority.lastIndex(of: UInt8(ascii: "@")) { return start..<end }
            place = start
        }
        return nil
    }
}
