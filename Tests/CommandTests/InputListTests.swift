import DownloadLists
import Testing

@testable import imgcache

@Suite("The lists of -i") struct InputListTests {
    private static let urls = ["http://a/1", "http://a/2?x=y#z"]

    @Test(arguments: [
        "http://a/1\nhttp://a/2?x=y#z\n", "http://a/1\nhttp://a/2?x=y#z", "http://a/1\r\nhttp://a/2?x=y#z\r\n",
        "\u{FEFF}http://a/1\nhttp://a/2?x=y#z\n", "\u{FEFF}http://a/1\r\nhttp://a/2?x=y#z",
        "\n\n  \nhttp://a/1\n\t\r\n\nhttp://a/2?x=y#z\n\n", "  http://a/1  \n\thttp://a/2?x=y#z\t\n",
        "# first\nhttp://a/1\n  # second\n#http://a/3\nhttp://a/2?x=y#z",
        "\u{FEFF}# first\nhttp://a/1\nhttp://a/2?x=y#z",
    ])
    func `a list has the same URLs in a file, on standard input, and for thumb`(text: String) throws {
        #expect(InputList.urls(in: text) == Self.urls)
        let listed = try DownloadList.downloads(in: Array(text.utf8), file: "list")
        #expect(listed.flatMap { $0.sources.map(\.url) } == Self.urls)
        var reader = DownloadListReader(file: "list", base: nil)
        var lines = LineSplitter()
        var taken: [[UInt8]] = []
        lines.add(Array(text.utf8)) { taken.append($0) }
        if let last = lines.finish() { taken.append(last) }
        var read: [ListedDownload] = []
        for line in taken { if let download = try reader.take(line) { read.append(download) } }
        if let last = try reader.finish() { read.append(last) }
        #expect(read == listed)
    }

    @Test(arguments: ["", "\u{FEFF}", "\n\r\n", "# only a comment\n"])
    func `a list without a URL is empty`(text: String) throws {
        #expect(InputList.urls(in: text).isEmpty)
        #expect(try DownloadList.downloads(in: Array(text.utf8), file: "list").isEmpty)
    }

    @Test func `a list of URLs has one URL per line and ignores blank lines and comments`() {
        let text = "# photos\n  http://a/1 \r\n\n\thttp://a/2\n#http://a/3\nhttp://a/4#frag"
        #expect(InputList.urls(in: text) == ["http://a/1", "http://a/2", "http://a/4#frag"])
    }
}
