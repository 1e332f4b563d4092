import ArgumentParser
import Testing

@testable import imgcache

@Suite("Words that shells complete")
struct CompletedWordTests {
    private let url = "http://h:80/a?b=1&c=$(touch x);'`\\ü"

    private func offered(_ words: [String], _ shell: CompletionShell?, _ candidates: String...) -> [String] {
        CompletedWord(words, at: words.count - 1, prefix: words.last ?? "", for: shell).offering(candidates)
    }

    /// Does what `compgen -W` does to a word in quotes.
    private func expanded(_ word: String) throws -> String {
        var rest = word[...]
        var result = ""
        while let first = rest.popFirst() {
            switch first {
            case "'":
                let end = try #require(rest.firstIndex(of: "'"))
                result += rest[..<end]
                rest = rest[end...].dropFirst()
            case "\\":
                let escaped = rest.popFirst()
                result.append(try #require(escaped))
            default: result.append(first)
            }
        }
        return result
    }

    @Test func `bash gets each candidate as one literal word`() throws {
        let offered = try #require(offered(["imgcache", "info", ""], .bash, url).first)
        #expect(try expanded(offered) == #"http://h:80/a\?b=1\&c=\$\(touch\ x\)\;\'\`\\ü"#)
    }

    @Test(arguments: ["\u{301}", "\u{200D}", "\u{FE0F}"])
    func `a mark that combines with a quote does not end the quotes`(mark: String) throws {
        let offered = try #require(offered(["imgcache", "unpin", ""], .bash, "a'\(mark)$(touch ran)\\\(mark)").first)
        // By bytes, as bash reads it.
        var isQuoted = false
        var rest = Array(offered.utf8)[...]
        var result: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "'") {
                isQuoted.toggle()
            } else if byte == UInt8(ascii: "\\"), !isQuoted {
                if let next = rest.popFirst() { result.append(next) }
            } else {
                #expect(isQuoted)
                result.append(byte)
            }
        }
        #expect(String(decoding: result, as: UTF8.self) == #"a\'"# + mark + #"\$\(touch\ ran\)\\"# + mark)
    }

    @Test(arguments: [
        (["http"], "http://h:80/a"), (["http", ":"], "//h:80/a"), (["http", ":", "//"], "//h:80/a"),
        (["http", ":", "//h", ":", "8"], "80/a"), (["http://h"], "http://h:80/a"), (["http", ":", "//i"], nil),
        (["ftp"], nil), (["\"http"], nil),
    ])
    func `bash keeps the part of a word before its last separator`(word: [String], candidate: String?) throws {
        let offered = offered(["imgcache", "info"] + word, .bash, "http://h:80/a")
        #expect(try offered.map(expanded) == [candidate].compactMap { $0 })
    }

    @Test func `a word with separators continues at its query`() throws {
        let words = ["imgcache", "info", "http", ":", "//h/a?b", "=", "1\\&c"]
        #expect(try offered(words, .bash, "http://h/a?b=1&c=2").map(expanded) == [#"1\&c=2"#])
    }

    @Test func `zsh does not take the part after a colon for a description`() {
        #expect(offered(["imgcache", "info", "http://h"], .zsh, #"http://h:80/\a"#) == [#"http\://h\:80/\\a"#])
    }

    @Test(arguments: [.bash, .zsh, .fish, nil] as [CompletionShell?])
    func `a candidate with a control character is not offered`(shell: CompletionShell?) {
        #expect(offered(["imgcache", "unpin", ""], shell, "a\nb", "a\u{1b}[2J", "a\tb", "trip").count == 1)
    }

    @Test func `other shells get candidates as they are`() {
        #expect(offered(["imgcache", "info", "http:"], .fish, url, "ftp://h/") == [url])
    }
}
