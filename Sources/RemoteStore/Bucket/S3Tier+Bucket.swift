import Digests
import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import Transfer
import XMLParsing

/// Requests to the bucket itself.
extension S3Tier {
    /// The largest number of objects per page.
    private static let pageSize = 1000
    private static let maxDocument = 8 << 20

    package func list(_ prefix: String, after: String?) async throws(RemoteError) -> [RemoteListing] {
        let base: [(name: String, value: String)] = [
            ("list-type", "2"), ("prefix", location.prefix + prefix), ("max-keys", String(Self.pageSize)),
            ("encoding-type", "url"),
        ]
        var query = base + (after.map { [("start-after", location.prefix + $0)] } ?? [])
        // A page may be empty and still have a successor. The limit stops a store that never ends its listing.
        for _ in 0..<1000 {
            let sink = ObjectSink(limit: Self.maxDocument)
            let head = try await runOnBucket(.get, query, into: sink)
            guard head.status == .ok else { throw sink.error(head) }
            let page = try Self.parsed("listing") { () throws(XMLReader.Failure) in
                try ListingPage(sink.bytes, prefix: location.prefix)
            }
            if !page.objects.isEmpty { return page.objects }
            guard let continuation = page.continuation else { return [] }
            query = base + [("continuation-token", continuation)]
        }
        throw .damaged("the store's listing does not end")
    }

    package func lifecycle() async throws(RemoteError) -> LifecycleRules {
        let sink = ObjectSink(limit: Self.maxDocument)
        let head = try await runOnBucket(.get, [("lifecycle", "")], into: sink)
        if head.status == .notFound {
            let error = sink.error(head)
            guard case .status(_, "NoSuchBucket") = error else { return LifecycleRules() }
            throw error
        }
        guard head.status == .ok else { throw sink.error(head) }
        return try Self.parsed("lifecycle rules") { () throws(XMLReader.Failure) in try LifecycleRules(sink.bytes) }
    }

    package func setLifecycle(_ rules: LifecycleRules) async throws(RemoteError) {
        let body = Array(rules.document.utf8)
        let sha256 = try Self.digest(.sha256, body)
        // Ceph requires the first of these fields; AWS accepts either.
        let fields: HTTPFields = [
            .contentType: "application/xml", .checksumSHA256: Data(sha256).base64EncodedString(),
            .contentMD5: Data(try Self.digest(.md5, body)).base64EncodedString(),
        ]
        let sink = ObjectSink(limit: 1 << 16)
        let head = try await runOnBucket(
            .put, [("lifecycle", "")], fields, body: body, hash: sha256.hexadecimal, into: sink)
        guard head.status.kind == .successful else { throw sink.error(head) }
    }

    /// - Parameter name: The document's name in errors.
    private static func parsed<Value>(
        _ name: String, _ parse: () throws(XMLReader.Failure) -> Value?
    ) throws(RemoteError) -> Value {
        let value: Value?
        do throws(XMLReader.Failure) { value = try parse() } catch {
            throw .damaged("the store's \(name): line \(error.line): \(error.message)")
        }
        guard let value else { throw .damaged("the store's \(name): another document") }
        return value
    }

    private func runOnBucket(
        _ method: HTTPRequest.Method, _ query: [(name: String, value: String)], _ fields: HTTPFields = [:],
        body: [UInt8]? = nil, hash: String = SigV4Request.emptyHash, into sink: ObjectSink
    ) async throws(RemoteError) -> ResponseHead {
        try await run(
            method, path: location.path(ofKey: ""), query: query, fields, body: body, hash: hash, into: sink)
    }
}

extension HTTPField.Name {
    fileprivate static let contentMD5 = known("Content-MD5")
}
