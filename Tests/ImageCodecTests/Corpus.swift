import Foundation
import Testing

@testable import ImageCodec

/// The test images of `TestAssets`, or of the folder in `IMGCACHE_IMAGES`, with their expected properties.
struct Corpus: Sendable {
    struct File: Decodable, Sendable, CustomTestStringConvertible {
        var path: String
        var format: String?
        var kind: String
        var expect: String?
        var what: String?
        var orientation: Int?

        var testDescription: String { path }
    }

    struct Expectation: Decodable, Sendable {
        struct Oriented: Decodable, Sendable {
            var width: Int
            var height: Int
            var sha256: String
        }

        var status: String
        var width: Int?
        var height: Int?
        var sha256: String?
        var sha256_a0: String?
        var must_reject: Bool?
        var oriented: Oriented?
    }

    private struct Manifest: Decodable { var files: [File] }
    private struct Expected: Decodable { var files: [String: Expectation] }

    let root: URL
    let files: [File]
    let expectations: [String: Expectation]

    static let shared: Corpus = {
        let named = ProcessInfo.processInfo.environment["IMGCACHE_IMAGES"].map { URL(filePath: $0) }
        let own = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../TestAssets")
        return Corpus(named ?? own)
    }()

    private init(_ root: URL) {
        self.root = root
        func read<Value: Decodable>(_ name: String, as type: Value.Type) -> Value? {
            (try? Data(contentsOf: root.appending(path: name))).flatMap { try? JSONDecoder().decode(type, from: $0) }
        }
        files = read("manifest.json", as: Manifest.self)?.files ?? []
        expectations = read("expected.json", as: Expected.self)?.files ?? [:]
    }

    /// The location of a file.
    func place(_ path: String) -> String { root.appending(path: path).path }

    func source(_ path: String) throws -> ImageSource { try ImageSource(path: place(path)) }

    func bytes(_ path: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: root.appending(path: path))) }

    /// Files of a kind, in folders of formats that are decoded here (`good`), or all of them.
    func files(_ kind: String, _ folders: Set<String> = ["apng", "avif", "gif", "jpeg", "png", "webp"]) -> [File] {
        files.filter { $0.kind == kind && (folders.isEmpty || folders.contains(String($0.path.prefix { $0 != "/" }))) }
    }
}
