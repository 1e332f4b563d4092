import Glibc
import HTTPSemantics

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
        guard let userinfo = userinfo(in: word).first else { return 0..<0 }
        func place(_ index: String.Index) -> Int { word.utf8.distance(from: word.startIndex, to: index) }
        return place(userinfo.lowerBound)..<place(userinfo.upperBound)
    }

    /// A text without the userinfo of the URLs in it.
    static func withoutUserinfo(_ text: String) -> String {
        userinfo(in: text).reversed().reduce(into: text) {
            $0.unicodeScalars.removeSubrange($1.lowerBound...$1.upperBound)
        }
    }

    /// The places of userinfo; a password may have more characters than in other texts.
    private static func userinfo(in text: String) -> [Range<String.Index>] {
        URLText.userinfo(in: text, endingAt: "/?# '\"\n")
    }
}
