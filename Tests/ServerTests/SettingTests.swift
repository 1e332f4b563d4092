import Foundation
import HTTPServer
import ImageCache
import ImageProxy
import TestSupport
import Testing

@testable import imgcache_server

struct SettingTests {
    private func configuration(
        options: [String: String] = [:], environment: [String: String] = [:]
    ) throws -> ServerConfiguration {
        var options = options
        options["origin"] = options["origin"] ?? "http://a"
        return try SettingSources(options: options, environment: environment, file: nil).configuration()
    }

    @Test(arguments: Setting.all.flatMap { $0.settings.map(\.name) })
    func `every setting reads what it writes`(name: String) throws {
        let setting = try #require(Setting.named(name))
        let standard = try configuration()
        guard let text = setting.text(standard), !text.isEmpty else { return }
        var read = try configuration()
        #expect(setting.read(text, &read) == nil)
        #expect(setting.text(read) == text)
    }

    @Test func `the page on serving lists every setting, its default and whether SIGHUP reloads it`() throws {
        var page = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        for _ in 0..<3 { page = page.deletingLastPathComponent() }
        page = page.appendingPathComponent("Sources/ImageProxy/ImageProxy.docc/Serving.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(rows.count == Setting.all.reduce(0) { $0 + $1.settings.count })
        for (_, settings) in Setting.all {
            for setting in settings {
                let row = rows.first { $0.hasPrefix("| `\(setting.name)`") }.map { $0.components(separatedBy: " | ") }
                let cells = try #require(row, "\(setting.name)")
                #expect(cells[0].hasSuffix("\\*") == setting.isReloadable, "\(setting.name)")
                // These depend on the machine.
                guard setting.shape != .flag, setting.name != "cache-dir", setting.name != "threads" else { continue }
                let standard = setting.text(ServerConfiguration()).map { $0.isEmpty ? "" : "`\($0)`" } ?? ""
                #expect(cells[1] == standard, "\(setting.name)")
            }
        }
    }

    @Test func `the page on serving has the sections of the help, and describes each setting as the help does`() throws
    {
        var page = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        for _ in 0..<3 { page = page.deletingLastPathComponent() }
        page = page.appendingPathComponent("Sources/ImageProxy/ImageProxy.docc/Serving.md")
        var sections: [(title: String, rows: [String])] = []
        for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("#") { sections.append((String(line.drop { $0 == "#" || $0 == " " }), [])) }
            if line.hasPrefix("| `"), !sections.isEmpty { sections[sections.count - 1].rows.append(String(line)) }
        }
        sections.removeAll { $0.rows.isEmpty }
        #expect(sections.map(\.title) == Setting.all.map(\.title))
        for ((title, rows), (_, settings)) in zip(sections, Setting.all) {
            #expect(rows.count == settings.count, "\(title)")
            for setting in settings {
                let row = try #require(rows.first { $0.hasPrefix("| `\(setting.name)`") }, "\(title): \(setting.name)")
                let cells = row.components(separatedBy: " | ")
                var text = cells[2...].joined(separator: " | ").replacing("`", with: "").replacing("\\|", with: "|")
                text = String(text.dropLast(2))
                // Only the file has objects.
                if let range = text.firstRange(of: " In the file an object: ") {
                    text = String(text[..<range.lowerBound])
                }
                #expect(text == setting.help, "\(setting.name)")
            }
        }
    }

    @Test func `no two settings have one name`() {
        let names = Setting.all.flatMap { $0.settings.map(\.name) }
        #expect(Set(names).count == names.count)
    }

    @Test func `a number of bytes is read with or without a unit`() {
        for (text, bytes) in [("4096", 4096), ("64k", 65_536), ("1.5KiB", 1536), ("2MB", 2_000_000), ("1GiB", 1 << 30)]
        {
            #expect(SettingText.bytes(text) == Int64(bytes), "\(text)")
        }
        for text in ["", "k", "-1", "1X", "1 MB ", "1e3", "9999999TiB"] {
            #expect(SettingText.bytes(text) == nil, "\(text)")
        }
    }

    @Test func `a value of a table may contain any character, in a file and in a text`() throws {
        let values = [
            "Strict-Transport-Security": "max-age=63072000; includeSubDomains", "Set-Cookie": "a=1; Path=/; Secure",
            "X-Odd": "\\; ends with ;", "X-Colon": "a: b", "X-End": "C:\\", "X-Z": "\\",
        ]
        let text = try #require(SettingText.text(of: values))
        let read = SettingText.table(text)
        #expect(Dictionary(uniqueKeysWithValues: read.map { ($0.name, $0.value ?? "") }) == values)
        #expect(SettingText.table("a: b; c;; d: ").map(\.name) == ["a", "c", "d"])
        let directory = try TestDirectory()
        let file = try directory.write(
            #"{"origin": "http://a", "set-response-fields": {"Content-Security-Policy": "default-src 'self'; img-src *"}}"#,
            to: "server.json")
        for file in [file, try directory.write(printed(file), to: "printed.json")] {
            let configuration = try SettingSources(options: [:], environment: [:], file: file).configuration()
            #expect(configuration.printed.contains("default-src 'self'; img-src *"))
        }
    }

    private func printed(_ file: String) throws -> String {
        try SettingSources(options: [:], environment: [:], file: file).configuration().printed
    }

    @Test func `the originals of images have the origin's number of retries`() throws {
        for retries in ["0", "7"] {
            let configuration = try SettingSources(
                options: ["origin": "http://a", "origin-retries": retries], environment: [:], file: nil
            ).configuration()
            let retry = try configuration.imageRules(OriginLocation(configuration)).transfer.retry
            #expect(retry.maxRetries == Int(retries) && retry.maxUnreachableRetries == Int(retries))
        }
    }

    @Test func `a duration is read with or without a unit`() {
        for (text, duration) in [
            ("30", Duration.seconds(30)), ("250ms", .milliseconds(250)), ("1.5s", .milliseconds(1500)),
            ("5m", .seconds(300)), ("1h", .seconds(3600)),
        ] {
            #expect(SettingText.duration(text) == duration, "\(text)")
        }
        for text in ["", "s", "-1s", "1y", "1 s"] { #expect(SettingText.duration(text) == nil, "\(text)") }
        #expect(SettingText.text(of: .milliseconds(1500)) == "1500ms")
        #expect(SettingText.text(of: .seconds(90)) == "90s")
    }

    @Test(arguments: ["127.0.0.1:8080", "[::1]:8080", "localhost:0"])
    func `an address with a port to listen on is accepted`(text: String) {
        #expect(ListenAddress(text)?.description == text)
    }

    @Test(arguments: ["8080", ":8080", "::1:8080", "a:99999", "a:", "[]:80", ""])
    func `an invalid address to listen on is rejected`(text: String) { #expect(ListenAddress(text) == nil) }

    @Test func `the paths of health and of readiness must differ`() throws {
        let error = #expect(throws: SettingError.self) {
            try configuration(options: ["health-path": "/healthz", "ready-path": "/healthz"])
        }
        #expect(error?.setting == "ready-path" && error?.value == "/healthz")
        let both = try configuration(options: ["health-path": "/healthz", "ready-path": "/readyz"])
        #expect(both.healthPath == "/healthz" && both.readyPath == "/readyz")
        #expect(try configuration(options: ["ready-path": "/healthz"]).healthPath == nil)
    }

    @Test(
        arguments: [
            ("admin.example", true), ("Admin.Example", true), ("localhost", true), ("10.0.0.1", true), ("[::1]", true),
            ("*.example", false), ("admin.example:8081", false), ("admin.example:", false), ("admin.example.", false),
            ("10.0.0.1:8081", false), ("[::1]:8081", false), ("http://admin.example", false), ("a b", false),
        ])
    func `a name of the admin listener is a whole host name without a port`(host: String, isAccepted: Bool) throws {
        let problem = try #require(Setting.named("admin-hosts")).problem(with: host)
        #expect((problem == nil) == isAccepted, "\(problem ?? "")")
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:4318", true), ("https://collector.example/otlp/", true), ("collector.example", false),
            ("https://me:secret@collector.example", false), ("https://collector.example/otlp?key=1", false),
            ("https://collector.example?", false), ("https://collector.example/#traces", false),
        ])
    func `the collector's URL is one to which a path can be appended`(url: String, isAccepted: Bool) throws {
        let problem = try #require(Setting.named("otlp-endpoint")).problem(with: url)
        #expect((problem == nil) == isAccepted, "\(problem ?? "")")
    }

    @Test(
        arguments: [
            ("X-Request-Id", true), ("x-trace", true), ("off", true), ("a b", false), ("", false), ("Host", false),
            ("Content-Length", false), ("transfer-encoding", false), ("Connection", false), ("Range", false),
            ("Content-Type", false), ("Via", false), ("Date", false), ("Cache-Control", false), ("Vary", false),
        ])
    func `the field of a request's id is none that describes the message`(name: String, isAccepted: Bool) throws {
        let problem = try #require(Setting.named("request-id-header")).problem(with: name)
        #expect((problem == nil) == isAccepted, "\(problem ?? "")")
    }

    @Test func `a reload applies the settings that it can, names the others and changes nothing after an error`() throws
    {
        let current = CurrentConfiguration(try configuration(options: ["queue-length": "1", "widths": "100"]))
        let new = try configuration(options: ["queue-length": "2", "max-url-length": "100"])
        #expect(try current.reload(new) == ["max-url-length"])
        #expect(current.value.queueLength == 2)
        #expect(current.value.imageOptions.widths.isEmpty)
        #expect(current.value.maxURLLength == 8192)

        let seen = Seen()
        current.observe { seen.lengths.append($0.queueLength) }
        current.observe { new throws(SettingError) in
            if new.queueLength == 3 { throw SettingError(setting: "queue-length", value: "3", problem: "is odd") }
        }
        let odd = try configuration(options: ["queue-length": "3"])
        #expect(throws: SettingError.self) { try current.reload(odd) }
        #expect(current.value.queueLength == 2)
        #expect(seen.lengths == [3, 2])
    }

    /// The configurations received by an observer. `@unchecked Sendable`: used by one test's thread only.
    private final class Seen: @unchecked Sendable {
        var lengths: [Int] = []
    }

    @Test func `a reload names the settings that need more transfers than there have been since the start`() throws {
        let start = try configuration(options: ["max-requests": "100", "origin-connections": "64"])
        for (requests, connections, limit, names) in [
            (100, 64, 100, []), (50, 100, 100, []), (101, 64, 100, ["max-requests"]),
            (100, 101, 100, ["origin-connections"]), (200, 200, 100, ["origin-connections", "max-requests"]),
            // With few descriptors, there are fewer transfers than configured.
            (100, 64, 20, []), (80, 30, 20, []), (100, 65, 20, ["origin-connections"]),
        ] as [(Int, Int, Int, [String])] {
            let new = try configuration(
                options: ["max-requests": "\(requests)", "origin-connections": "\(connections)"])
            #expect(new.raised(above: limit, since: start) == names, "\(requests), \(connections), \(limit)")
        }
    }

    @Test func `the settings add key rules to those of the cache directory`() throws {
        let directory = try TestDirectory()
        let options = [
            "cache-dir": directory.path, "ignored-parameters": "token", "signed-hosts": "a.example",
        ]
        try directory.write(
            #"{"keys": {"ignore": [{"parameters": ["utm_*"]}], "signed": ["b.example"], "unordered": ["c.example"]}}"#,
            to: KeyRules.fileName)
        let keys = try configuration(options: options).cacheConfiguration().rules.keys
        var expected = try KeyRules(directory: directory.path)
        expected.ignored.append(.init(ignoring: ["token"]))
        expected.signedHosts.append("a.example")
        #expect(keys == expected && keys.ignored.count == 2 && keys.signedHosts.count == 2)
        #expect(keys.unorderedHosts == ["c.example"])
        try directory.write(#"{"keys": {"ignores": []}}"#, to: KeyRules.fileName)
        let configuration = try configuration(options: options)
        let error = #expect(throws: SettingError.self) { try configuration.cacheConfiguration() }
        #expect(error?.problem.contains("keys.ignores is not known") == true, "\(String(describing: error))")
        try directory.write("{\"keys\": {\"signed\": [\"a\"],\n\"signed\": []}}", to: KeyRules.fileName)
        let repeated = #expect(throws: SettingError.self) { try configuration.cacheConfiguration() }
        let place = "line 2, column 1: \"signed\" is specified more than once"
        #expect(repeated?.problem.contains(place) == true, "\(String(describing: repeated))")
    }

    @Test func `the files of watermarks and fallback images are read once, with the settings`() throws {
        let directory = try TestDirectory()
        let image = try DecodedImage(width: 3, height: 2) { _ in }
        let (path, options) = (
            directory.path("a.png"),
            ["watermarks": "logo: \(directory.path("a.png"))", "fallback-image": "404:\(directory.path("a.png"))"]
        )
        try Data(ImageEncoder.png().encode(image)).write(to: URL(fileURLWithPath: path))
        let configuration = try configuration(options: options)
        try FileManager.default.removeItem(atPath: path)
        let rules = try configuration.imageRules(OriginLocation(configuration))
        #expect(rules.watermarks["logo"]?.image.width == 3)
        #expect(rules.fallbacks.byStatus[404]?.format == .png && rules.fallbacks.general == nil)
        #expect(throws: SettingError.self) { try self.configuration(options: options) }
    }
}

extension Setting {
    /// The problem with a value, or nil if there is none.
    fileprivate func problem(with text: String) -> String? {
        var configuration = ServerConfiguration()
        return self.read(text, &configuration)
    }
}
