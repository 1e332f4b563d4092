import ArgumentParser
import Testing

@testable import imgcache

@Suite("Options that take a file") struct FileOptionTests {
    @Test(arguments: [
        (["fetch", "--failed", "-", "http://a/"], false), (["fetch", "--report", "-", "http://a/"], false),
        (["fetch", "--report=-", "http://a/"], false), (["fetch", "--failed", "./-", "http://a/"], true),
        (["fetch", "--report", "report.json", "http://a/"], true), (["fetch", "-o", "-", "http://a/"], true),
        (["fetch", "-i", "-"], true), (["thumb", "-o", "-", "a.jpg"], true), (["thumb", "-i", "-", "-d", "out"], true),
        (["zsync", "-o", "-", "a"], true), (["pin", "-i", "-", "name"], true),
    ])
    func `a dash is a standard stream or an error, never a file of that name`(
        arguments: [String], isAccepted: Bool
    ) {
        let isParsed = (try? Main.parseAsRoot(arguments)) != nil
        #expect(isParsed == isAccepted)
    }
}
