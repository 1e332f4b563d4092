import Testing

@testable import imgcache

@Suite("Passwords of a command line")
struct CommandSecretsTests {
    @Test(arguments: [
        (["-u", "me:pw"], "-u xxxxx"), (["--user=me:pw"], "--user=xxxxx"), (["-ume:pw"], "-uxxxxx"),
        (["-H", "A: b"], "-H xxxx"), (["--header", "A: b"], "--header xxxx"), (["--cert=f:pw"], "--cert=xxxx"),
        (["--proxy", "http://a:b@p"], "--proxy xxxxxxxxxxxx"), (["--user-agent=a"], "--user-agent=a"),
        (["http://me:pw@h/a@b"], "http://xxxxx@h/a@b"), (["http://h/a@b"], "http://h/a@b"), (["-o", "u@v"], "-o u@v"),
    ])
    func `passwords are hidden in the list of processes`(words: [String], shown: String) {
        var isValue = false
        let hidden = words.map { word in
            var bytes = Array(word.utf8)
            for place in CommandSecrets.secretBytes(in: word, isValue: isValue) { bytes[place] = UInt8(ascii: "x") }
            isValue = CommandSecrets.options.contains(word)
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(hidden.joined(separator: " ") == shown)
    }

    @Test(arguments: [
        ("two: 'http://a:b@h/x' and https://c@i", "two: 'http://h/x' and https://i"), ("http://h/a@b", "http://h/a@b"),
        ("a@b ://", "a@b ://"), ("http://a@b@c/", "http://c/"), ("", ""),
        ("http://\u{301}a:b@\u{301}h/", "http://\u{301}h/"),
    ])
    func `messages name URLs without userinfo`(text: String, shown: String) {
        #expect(CommandSecrets.withoutUserinfo(text) == shown)
    }
}
