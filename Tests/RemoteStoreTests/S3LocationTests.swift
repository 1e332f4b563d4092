import Testing

@testable import RemoteStore

@Suite("Locations in an S3-compatible store")
struct S3LocationTests {
    @Test func `a location without an endpoint is at AWS, with the bucket in the host name`() throws {
        let location = try S3Location("s3://my-bucket/ci/downloads", environment: { _ in nil })
        #expect(location.host == "my-bucket.s3.us-east-1.amazonaws.com")
        #expect(location.prefix == "ci/downloads/")
        #expect(
            location.url(path: location.path(ofKey: "a b"), query: [])
                == "https://my-bucket.s3.us-east-1.amazonaws.com/a%20b")
    }

    @Test func `a bucket with a dot is addressed by path, for the certificate's sake`() throws {
        let location = try S3Location("s3://my.bucket", environment: { $0 == "AWS_REGION" ? "eu-central-1" : nil })
        #expect(
            location.url(path: location.path(ofKey: "k"), query: [])
                == "https://s3.eu-central-1.amazonaws.com/my.bucket/k")
        #expect(location.prefix.isEmpty)
    }

    @Test func `the endpoint for S3 goes before the one for everything, and is addressed by path`() throws {
        let environment = ["AWS_ENDPOINT_URL": "http://other:1", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:8333/"]
        let location = try S3Location("s3://bucket/", environment: { environment[$0] })
        #expect(location.endpoint == "http://127.0.0.1:8333" && location.host == "127.0.0.1:8333")
        #expect(
            location.url(path: location.path(ofKey: ""), query: [("prefix", "a/"), ("list-type", "2")])
                == "http://127.0.0.1:8333/bucket?list-type=2&prefix=a%2F")
    }

    @Test(arguments: [
        "http://bucket/a", "s3://", "s3://ab", "s3://UPPER", "s3://-ab", "s3://a..b", "s3://bucket/../x",
        "s3://bucket//x",
        "s3://bucket/a//b", "s3://user@bucket", "s3://bucket\n/x",
    ])
    func `an invalid location is an error`(text: String) {
        #expect(throws: RemoteConfigurationError.self) { try S3Location(text, environment: { _ in nil }) }
    }

    @Test(arguments: ["ftp://host", "https://u:p@host", "https://host/path", "host", "https://host/?a"])
    func `an endpoint with more than a scheme and a host, or less, is refused`(endpoint: String) {
        #expect(throws: RemoteConfigurationError.self) { try S3Location(endpoint: endpoint, bucket: "bucket") }
    }
}
