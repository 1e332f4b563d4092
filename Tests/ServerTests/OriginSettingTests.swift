import Foundation
import HTTPSemantics
import ImageProxy
import RemoteStore
import TestSupport
import Testing

@testable import imgcache_server

@Suite("Origins in the configuration file")
struct OriginSettingTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func configuration(_ file: String, options: [String: String] = [:]) throws -> ServerConfiguration {
        let path = try directory.write(file, to: "server.json")
        return try SettingSources(options: options, environment: [:], file: path).configuration()
    }

    @Test func `an origin inherits the service's settings unless it has its own`() throws {
        let configuration = try configuration(
            """
            {
              "origin-timeout": "9s", "presets": {"icon": "w=9"}, "default-options": "q=70",
              "origins": {
                "b": {"match": "b.example", "url": "https://b.example", "origin-timeout": "2s", "presets": {"card": "w=40"}},
                "a": {"match": ["/a/", "a.example/x/"], "url": "https://user:word@a.example/base", "set-fields": {"X-Key": "a: b"},
                      "default-options": "q=50", "only-presets": true, "origin-connections": 5}
              }
            }
            """, options: ["origin": "https://rest.example"])
        let all = configuration.allOrigins
        #expect(all.map(\.name) == ["a", "b", "default"])
        #expect(
            all.map(\.configuration.origin) == [
                "https://user:word@a.example/base", "https://b.example", "https://rest.example",
            ])
        #expect(all.map(\.configuration.originTimeout) == [.seconds(9), .seconds(2), .seconds(9)])
        #expect(all.map(\.configuration.imageOptions.presets) == [["icon": "w=9"], ["card": "w=40"], ["icon": "w=9"]])
        #expect(all.map(\.configuration.imageOptions.defaults) == ["q=50", "q=70", "q=70"])
        #expect(all.map(\.configuration.imageOptions.needsPreset) == [true, false, false])
        #expect(all.map(\.configuration.setFields) == [["X-Key": "a: b"], [:], [:]])
        #expect(all.map(\.configuration.originConnections) == [5, 64, 64])
        #expect(all.map(\.patterns.count) == [2, 1, 1])
    }

    @Test(arguments: [
        (
            #""a": {"match": "/a/", "url": "https://a", "origin-timeout": "soon"}"#,
            "origins.a.origin-timeout \"soon\": must be a duration"
        ),
        (#""a": {"match": "/a/", "url": "ftp://a"}"#, "origins.a.url \"ftp://a\": must be an http or https URL"),
        (#""a": {"match": "/a/", "url": "https://u:word@a?b"}"#, "origins.a.url \"https://***@a?b\": has a query"),
        (#""a": {"match": "/a/", "url": "s3://no_bucket!"}"#, "origins.a.url"),
        (#""a": {"match": "/a/", "url": "gs://no_bucket!"}"#, "origins.a.url"),
        (#""a": {"match": "/a/"}"#, "origins.a.url: is missing"),
        (#""a": {"url": "https://a"}"#, "origins.a.match: is missing"),
        (#""a": {"match": [], "url": "https://a"}"#, "origins.a.match: is missing"),
        (#""a": {"match": "/a", "url": "https://a"}"#, "origins.a.match \"/a\": must end with a slash"),
        (
            #""a": {"match": "/image/x/", "url": "https://a"}"#,
            "origins.a.match \"/image/x/\": must not be below /image/"
        ),
        (
            #""a": {"match": "/a/", "url": "https://a", "max_pixels": 3}"#,
            "origins.a.max_pixels: is not a setting; did you mean \"max-pixels\"?"
        ),
        (
            #""a": {"match": "/a/", "url": "https://a", "threads": 3}"#,
            "origins.a.threads: is not a setting of one origin"
        ),
        (
            #""a": {"match": "/a/", "url": "https://a", "origin": "https://b"}"#,
            "origins.a.origin: is not a setting of one origin"
        ),
        (
            #""a": {"match": "/a/", "url": "https://a", "widths": {"a": 1}}"#,
            "origins.a.widths: must be a single value or a list"
        ),
        (#""a": {"match": "/a/", "url": "https://a", "presets": {"a": "nonsense"}}"#, "origins.a.presets"),
        (
            #""a": {"match": "/a/", "url": "https://a", "set-fields": {"Host": "b"}}"#,
            "origins.a.set-fields: \"Host\": is set by the service itself"
        ),
        (#""a": {"match": "/a/", "url": "https://a", "set-fields": {"A;B": "c"}}"#, "origins.a.set-fields"),
        (
            #""a": {"match": "/a/", "url": "https://a", "set-response-fields": {"cache-control": "no-store"}}"#,
            "origins.a.set-response-fields \"cache-control: no-store\": \"cache-control\": says what the response is"
        ),
        (
            #""a": {"match": "/a/", "url": "https://a", "drop-response-fields": ["Server", "Keep-Alive"]}"#,
            "origins.a.drop-response-fields"
        ),
        (
            #""a": {"match": "/a/", "url": "https://a", "signing-key-files": ["/nowhere"]}"#,
            "origins.a.signing-key-files"
        ),
        (
            #""a": {"match": ["/a/", "/%61/"], "url": "https://a"}"#,
            "origins.a.match \"/%61/\": is specified more than once"
        ),
        (#""a": 3"#, "origins.a: must be an object"),
        (#""a b": {}"#, "origins.a b: is no name"),
        (#""default": {"match": "/a/", "url": "https://a"}"#, "origins.default: is the name of"),
    ])
    func `an error in an origin's settings is reported with its line and setting`(origin: String, message: String)
        throws
    {
        let error = #expect(throws: SettingError.self) {
            try configuration("{\n\"origin\": \"https://rest.example\",\n\"origins\": {\n  \(origin)\n}}")
        }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("server.json:4: \(message)"), "\(text)")
        #expect(!text.contains("word"))
    }

    @Test(arguments: [
        (
            #"{"origins": {"a": {"match": "/x/", "url": "https://a"},\#n "b": {"match": "/x/", "url": "https://b"}}}"#,
            ":2: origins.b.match \"/x/\": is that of the origin \"a\", too"
        ),
        (
            #"{"origin": "https://r",\#n "origins": {\#n"a": {"match": "/", "url": "https://a"}}}"#,
            ":3: origins.a.match \"/\": is that of the setting origin, too"
        ),
        (
            #"{"origins": {"a": {"match": "/x/", "url": "https://a",\#n "url": "https://b"}}}"#,
            "origins.a.url: is specified more than once"
        ),
        (
            #"{"origin": "https://a",\#n "presets": {"c": "w=1", "c": "w=2"}}"#,
            "line 2, column 26: \"c\" is specified more than once"
        ),
        (#"{\#n\#n"origins": ["a"]}"#, ":3: origins: must be an object"),
        (#"{"origins": {}}"#, "origin: is missing"),
        (#"{\#n"max-requests": 0, "origin": "https://a"}"#, ":2: max-requests \"0\""),
    ])
    func `an error in the configuration of several origins is reported with its place`(file: String, message: String)
        throws
    {
        let error = #expect(throws: SettingError.self) { try configuration(file) }
        #expect(error.map { "\($0)" }?.contains(message) == true, "\(String(describing: error))")
    }

    @Test(
        arguments: [
            ("s3://photos/a", [:], "https://photos.s3.us-east-1.amazonaws.com/a", "us-east-1"),
            ("s3://photos/a", ["s3-region": "eu-west-1"], "https://photos.s3.eu-west-1.amazonaws.com/a", "eu-west-1"),
            ("gs://photos/a", [:], "https://storage.googleapis.com/photos/a", "auto"),
            ("gs://photos/a", ["s3-endpoint": "http://127.0.0.1:9"], "http://127.0.0.1:9/photos/a", "auto"),
        ] as [(String, [String: String], String, String)])
    func `the kind of a bucket determines its store's URL and region`(
        origin: String, settings: [String: String], url: String, region: String
    ) throws {
        let options = settings.merging(["origin": origin]) { $1 }
        let configuration = try SettingSources(options: options, environment: [:], file: nil).configuration()
        let location = try OriginLocation(configuration)
        #expect(location.base.url?.normalized == url && location.bucket?.region == region)
    }

    @Test func `printed settings can be read again and contain no secrets`() throws {
        let file = """
            {
              "origin": "https://user:word@rest.example/base", "listen": "127.0.0.1:8090", "admin": "off", "capacity": "3GiB",
              "admin-token": "hidden", "widths": [1, 2], "presets": {"icon": "w=9", "b": "w=1,h=2"}, "forwarded": true,
              "origins": {
                "b": {"match": "b.example", "url": "https://user:word@b.example", "origin-timeout": "2500ms", "max-image-bytes": "1.5KiB",
                      "set-fields": {"X-Key": "hidden"}, "drop-fields": ["Cookie", "X-A"], "set-response-fields": {"X-B": "c"}, "drop-response-fields": ["Server"]},
                "s": {"match": ["/s/", "*.s.example:81/x/"], "url": "s3://bucket/prefix", "s3-endpoint": "http://s3.example", "only-presets": true,
                      "presets": {"card": "w=40"}},
                "none": {"match": "/none/", "url": "http://none.example", "presets": {}, "set-fields": {}}
              }
            }
            """
        let first = try configuration(file)
        let printed = first.printed
        #expect(!printed.contains("hidden") && !printed.contains("word"))
        let second = try configuration(printed)
        #expect(second.printed == printed)
        #expect(second.origin == "https://rest.example/base")
        #expect(second.origins.map(\.url) == ["https://b.example", "http://none.example", "s3://bucket/prefix"])
        for (_, settings) in Setting.all {
            for setting in settings where !setting.isSecret && setting.name != "origin" {
                #expect(setting.text(first) == setting.text(second), "\(setting.name)")
            }
        }
        for (one, other) in zip(first.allOrigins, second.allOrigins) {
            #expect(
                one.patterns == other.patterns
                    && one.configuration.imageOptions.presets.keys
                        == other.configuration.imageOptions.presets.keys
                    && one.configuration.originTimeout == other.configuration.originTimeout)
        }
        #expect(try configuration(try configuration(#"{"origin": "https://a"}"#).printed).printed.contains("https://a"))
    }

    @Test func `the page on serving names every setting that an origin may have`() throws {
        var page = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        for _ in 0..<3 { page = page.deletingLastPathComponent() }
        page = page.appendingPathComponent("Sources/ImageProxy/ImageProxy.docc/Serving.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let sections = text.components(separatedBy: "\n### ")
        for (title, settings) in Setting.all {
            for setting in settings where setting.isPerOrigin {
                #expect(setting.isReloadable, "\(setting.name)")
                let isOfSection = ["Images", "Options of images", "Images that fail"].contains(title)
                let isNamed =
                    setting.name.hasPrefix("s3-") || sections.last?.contains("`\(setting.name)`,") == true
                    || sections.last?.contains("`\(setting.name)`\n") == true
                #expect(isOfSection || isNamed || text.contains("\n`\(setting.name)`,"), "\(setting.name)")
            }
        }
    }
}
