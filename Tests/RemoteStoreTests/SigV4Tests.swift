import Digests
import FoundationEssentials
import HTTPTypes
import Testing

@testable import RemoteStore

/// The signatures that AWS publishes: the examples of S3's documentation ("Authenticating Requests: Using the Authorization Header"),
/// and cases of the Signature Version 4 test suite.
@Suite("AWS Signature Version 4")
struct SigV4Tests {
    private static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    /// S3's examples: 24 May 2013, us-east-1, bucket examplebucket.
    private func s3Signature(
        _ method: HTTPRequest.Method = .get, _ path: String = "/", query: [(name: String, value: String)] = [],
        adding fields: [(String, String)] = [], hash: String = emptyHash
    ) throws -> String {
        let signer = SigV4Signer(
            credentials: S3Credentials(
                accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            scope: SigV4Scope(date: Date(timeIntervalSince1970: 1_369_353_600), region: "us-east-1"))
        let all =
            fields + [
                ("Host", "examplebucket.s3.amazonaws.com"), ("x-amz-content-sha256", hash),
                ("x-amz-date", "20130524T000000Z"),
            ]
        return try signer.signature(
            of: SigV4Request(
                method: method, path: path, query: query, fields: try headerFields(all), payloadHash: hash))
    }

    /// The test suite's: 30 August 2015, us-east-1, a service named service.
    private func suite(
        query: [(name: String, value: String)] = [], adding fields: [(String, String)] = []
    ) throws -> (request: SigV4Request, signer: SigV4Signer) {
        let signer = SigV4Signer(
            credentials: S3Credentials(
                accessKeyID: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            scope: SigV4Scope(
                date: Date(timeIntervalSince1970: 1_440_938_160), region: "us-east-1", service: "service"))
        let all = fields + [("Host", "example.amazonaws.com"), ("X-Amz-Date", "20150830T123600Z")]
        let request = SigV4Request(
            method: .get, path: "/", query: query, fields: try headerFields(all), payloadHash: Self.emptyHash)
        return (request, signer)
    }

    private func headerFields(_ fields: [(String, String)]) throws -> HTTPFields {
        var result = HTTPFields()
        for (name, value) in fields { result.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value)) }
        return result
    }

    @Test func `the signature of S3's documented GET of an object with a range is right`() throws {
        #expect(
            try s3Signature(.get, "/test.txt", adding: [("Range", "bytes=0-9")])
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func `the signature of S3's documented PUT of a key with a dollar sign is right`() throws {
        let hash = try RunningDigest.digest(.sha256, of: Array("Welcome to Amazon S3.".utf8)).hexadecimal
        #expect(
            try s3Signature(
                .put, "/test$file.text",
                adding: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                hash: hash) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func `the signature of S3's documented GET of a bucket's lifecycle is right`() throws {
        #expect(
            try s3Signature(query: [("lifecycle", "")])
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    }

    @Test func `the signature of S3's documented list of objects is right`() throws {
        #expect(
            try s3Signature(query: [("prefix", "J"), ("max-keys", "2")])
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test func `the signature of get-vanilla in the test suite is right`() throws {
        let (request, signer) = try suite()
        #expect(
            try signer.stringToSign(request).hasSuffix(
                "\nbb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63"))
        #expect(
            try signer.authorization(for: request)
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                + "SignedHeaders=host;x-amz-date, "
                + "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
    }

    @Test func `the signature of get-vanilla-query-order-key-case in the test suite is right`() throws {
        let (request, signer) = try suite(query: [("Param2", "value2"), ("Param1", "value1")])
        #expect(
            try signer.signature(of: request) == "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500")
    }

    @Test func `the signature of get-header-value-trim in the test suite is right`() throws {
        let (request, signer) = try suite(adding: [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")])
        #expect(request.canonicalText.contains("\nmy-header2:\"a b c\"\n"))
        #expect(
            try signer.signature(of: request) == "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736")
    }

    @Test(arguments: [
        ("/a b", "/a%20b"), ("/a+b", "/a%2Bb"), ("/(x)!*'", "/%28x%29%21%2A%27"), ("/a=b&c", "/a%3Db%26c"),
        ("/~a-b_c.d/e", "/~a-b_c.d/e"), ("/é", "/%C3%A9"), ("/100%", "/100%25"), ("//a", "//a"),
    ])
    func `paths are encoded once, all but unreserved characters and slashes`(path: String, encoded: String) {
        #expect(AWSEncoding.path(path) == encoded)
    }

    @Test func `parameters are sorted by their encoded names, then values`() {
        #expect(
            AWSEncoding.query([("b", "/"), ("a", "2"), ("a", "1"), ("é", ""), ("B", "")]) == "%C3%A9=&B=&a=1&a=2&b=%2F")
    }

    @Test func `fields of one name are joined in their order`() throws {
        let (request, _) = try suite(adding: [("My-Header", "b"), ("My-Header", "a")])
        #expect(request.canonicalText.contains("\nmy-header:b,a\n"))
    }

    @Test func `descriptions of credentials contain no secrets`() {
        let credentials = S3Credentials(accessKeyID: "id", secretKey: "hidden", sessionToken: "hidden")
        #expect(!"\(credentials)".contains("hidden") && !String(reflecting: credentials).contains("hidden"))
    }
}
