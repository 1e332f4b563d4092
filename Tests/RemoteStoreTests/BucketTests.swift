import Digests
import FoundationEssentials
import HTTPTypes
import Testing
import Transfer

@testable import RemoteStore

@Suite("Requests to a bucket")
struct BucketTests {
    private func tier(
        prefix: String = "", _ script: @escaping @Sendable (TransferRequest) -> FixtureTransport.Answer
    ) throws -> (S3Tier, FixtureTransport) {
        let transport = FixtureTransport(script)
        let configuration = RemoteStoreConfiguration(
            location: try S3Location(endpoint: "http://store:8333", bucket: "bucket", prefix: prefix),
            credentials: S3Credentials(accessKeyID: "id", secretKey: "secret"))
        return (S3Tier(configuration, over: transport, sizeLimit: 1000, now: { Date() }), transport)
    }

    private func listing(_ keys: [String], next: String? = nil, isEncoded: Bool = true) -> FixtureTransport.Answer {
        let contents = keys.map {
            "<Contents><Key>\($0)</Key><LastModified>2026-11-23T04:05:06.000Z</LastModified>"
                + "<ETag>&quot;0&quot;</ETag><Size>7</Size></Contents>"
        }
        let encoding = isEncoded ? "<EncodingType>url</EncodingType>" : ""
        let end = next.map { "<IsTruncated>true</IsTruncated><NextContinuationToken>\($0)</NextContinuationToken>" }
        let text =
            "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" + encoding
            + contents.joined() + (end ?? "<IsTruncated>false</IsTruncated>") + "</ListBucketResult>"
        return .response(.ok, body: Array(text.utf8))
    }

    @Test func `a listing has times and keys without the prefix`() async throws {
        let page = listing(["a%20b/v1/obj/00/1", "a+b/v1/obj/00/2", "other/v1/obj/00/3"])
        let (tier, transport) = try tier(prefix: "a b") { _ in page }
        let objects = try await tier.list("v1/obj/", after: "v1/obj/00/0")
        #expect(objects.map(\.key) == ["v1/obj/00/1", "v1/obj/00/2"])
        #expect(objects.map(\.size) == [7, 7])
        #expect(objects.first?.modified == Date(timeIntervalSince1970: 1_795_406_706))
        let request = try #require(transport.requests.first)
        #expect(
            request.url == "http://store:8333/bucket?encoding-type=url&list-type=2&max-keys=1000"
                + "&prefix=a%20b%2Fv1%2Fobj%2F&start-after=a%20b%2Fv1%2Fobj%2F00%2F0")
        #expect(request.fields[.authorization] != nil)
    }

    @Test func `an empty page of a listing is followed if it is not the last one`() async throws {
        let (empty, full) = (listing([], next: "t/+"), listing(["k+1 %"], isEncoded: false))
        let (tier, transport) = try tier { $0.url.contains("continuation-token=t%2F%2B") ? full : empty }
        #expect(try await tier.list("", after: nil).map(\.key) == ["k+1 %"])
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: ["", "<Error/>", "<ListBucketResult><Contents/></ListBucketResult>", "<!DOCTYPE a><a/>"])
    func `an invalid listing is an error`(text: String) async throws {
        let (tier, _) = try tier { _ in .response(.ok, body: Array(text.utf8)) }
        await #expect {
            try await tier.list("", after: nil)
        } throws: { error in
            guard case .damaged(let reason)? = error as? RemoteError else { return false }
            return reason.hasPrefix("the store's listing: ")
        }
    }

    @Test func `foreign lifecycle rules are kept unchanged, and ours are replaced`() async throws {
        let theirs =
            "<Rule><ID>logs &amp; more</ID><Filter><Prefix>log/</Prefix></Filter><Status>Disabled</Status></Rule>"
        let ours = "<Rule><ID>imgcache:v1/obj/</ID><Status>Enabled</Status></Rule>"
        let text = "<LifecycleConfiguration>\(theirs)\n\(ours)</LifecycleConfiguration>"
        let (tier, transport) = try tier { $0.method == .get ? .response(.ok, body: Array(text.utf8)) : .response(.ok) }
        var rules = try await tier.lifecycle()
        #expect(rules.count == 2 && rules.hasRule(forPrefix: "v1/obj/") && !rules.hasRule(forPrefix: "log/"))
        rules.set([.init(prefix: "v1/obj/", days: 30), .init(prefix: "a&b/", days: 1)])
        try await tier.setLifecycle(rules)
        let request = try #require(transport.requests.last)
        let body = try #require(request.body)
        let written = String(decoding: body, as: UTF8.self)
        #expect(request.method == .put && request.url == "http://store:8333/bucket?lifecycle=")
        #expect(written.contains(theirs) && !written.contains(ours))
        #expect(written.contains("<Prefix>v1/obj/</Prefix>") && written.contains("<Days>30</Days>"))
        #expect(written.contains("<Prefix>a&amp;b/</Prefix>"))
        let md5 = Data(try RunningDigest.digest(.md5, of: body)).base64EncodedString()
        #expect(request.fields[try #require(HTTPField.Name("Content-MD5"))] == md5)
    }

    @Test func `a bucket without lifecycle rules has an empty list, and a missing bucket is an error`() async throws {
        let none = Array("<Error><Code>NoSuchLifecycleConfiguration</Code></Error>".utf8)
        let (tier, _) = try tier { _ in .response(.notFound, body: none) }
        #expect(try await tier.lifecycle() == LifecycleRules())
        let (missing, _) = try self.tier { _ in
            .response(.notFound, body: Array("<Error><Code>NoSuchBucket</Code></Error>".utf8))
        }
        await #expect(throws: RemoteError.status(404, code: "NoSuchBucket")) { try await missing.lifecycle() }
    }
}
