import HTTPSemantics
import Testing

/// Decides which final URLs belong to one resource. Only these are resumed, and confirmed by a 304.
struct SignatureParameterTests {
    private static let s3 =
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20261122%2Feu&X-Amz-Date=20261122T000000Z&X-Amz-Expires=60"
        + "&X-Amz-SignedHeaders=host&X-Amz-Signature="
    private static let azure = "sp=r&sv=2018-11-09&sr=b&se=2026-11-22T00%3A00%3A00Z&sig="

    @Test(
        arguments: [
            ("http://a/f", "http://a/f"), ("http://a/f", "HTTP://A:80/f"), ("http://a/%7ef", "http://a/~f"),
            ("http://a/f?x=1", "http://a/f?x=1"),
            ("http://a/f?\(s3)01", "http://a/f?\(s3)02"), ("http://a/f", "http://a/f?\(s3)02"),
            ("http://a/f?versionId=7&\(s3)01", "http://a/f?\(s3)02&versionId=7"),
            ("http://a/f?AWSAccessKeyId=A&Expires=1&Signature=s", "http://a/f?AWSAccessKeyId=A&Signature=t&Expires=2"),
            (
                "http://a/f?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=c&X-Goog-Date=1&X-Goog-Signature=1",
                "http://a/f?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=d&X-Goog-Date=2&X-Goog-Signature=2"
            ),
            (
                "http://a/f?GoogleAccessId=me&Expires=1&Signature=s",
                "http://a/f?GoogleAccessId=me&Expires=2&Signature=t"
            ),
            ("http://a/f?\(azure)a%3D&rscd=x", "http://a/f?\(azure)b%3D&rscd=x"),
            ("http://a/f?\(azure)a&jwt=eyJa.b.c", "http://a/f?\(azure)b&jwt=eyJd.e.f"),
            ("http://a/f?Expires=1&Signature=a&Key-Pair-Id=k", "http://a/f?Expires=2&Signature=b&Key-Pair-Id=k"),
            ("http://a/f?Policy=p&Signature=a&Key-Pair-Id=k", "http://a/f?Policy=q&Signature=b&Key-Pair-Id=l"),
            (
                "http://a/f?q=1&hdnts=exp=1~acl=/*~hmac=aa", "http://a/f?q=1&hdnts=exp=2~acl=/*~hmac=bb"
            ),
            (
                "http://a/f?\(s3)01&Policy=p&Signature=a&Key-Pair-Id=k",
                "http://a/f?\(s3)02&Policy=q&Signature=b&Key-Pair-Id=k"
            ),
        ])
    func `URLs that differ only in spelling or signature name the same resource`(one: String, other: String) {
        #expect(SignatureParameters.known.isSameResource(one, other))
        #expect(SignatureParameters.known.isSameResource(other, one))
    }

    @Test(
        arguments: [
            ("http://a/fw-1.0.img", "http://a/fw-1.1.img"), ("http://a/f", "https://a/f"), ("http://a/f", "http://b/f"),
            ("http://a/f", "http://a:8080/f"), ("http://a/f", "http://a/F"), ("http://a/f", "http://a/f/"),
            ("http://a/f", "http://a/f?"), ("http://a/f?v=1", "http://a/f?v=2"),
            ("http://a/f?v=1&w", "http://a/f?w&v=1"),
            // A different version, or a different signed field.
            ("http://a/f?versionId=7&\(s3)01", "http://a/f?versionId=8&\(s3)01"),
            ("http://a/f?\(azure)a&snapshot=1", "http://a/f?\(azure)a&snapshot=2"),
            ("http://a/f?\(s3)01", "http://a/g?\(s3)01"),
            // Parameters that only resemble a part of a signature.
            ("http://a/f?Signature=s", "http://a/f?Signature=t"), ("http://a/f?Expires=1", "http://a/f?Expires=2"),
            ("http://a/f?sv=large&sig=a", "http://a/f?sv=small&sig=a"),
            ("http://a/f?sig=a&sp=1", "http://a/f?sig=a&sp=2"),
            ("http://a/f?hdnts=1", "http://a/f?hdnts=2"), ("http://a/f?jwt=eyJa", "http://a/f?jwt=eyJb"),
            ("http://a/f?x-amz-signature=01", "http://a/f?x-amz-signature=02"),
            // Two of a mark: who knows which one is obeyed.
            ("http://a/f?\(s3)01&X-Amz-Signature=1", "http://a/f?\(s3)02&X-Amz-Signature=1"),
            ("not a URL", "nor this one"),
        ])
    func `URLs with any other difference name different resources`(one: String, other: String) {
        #expect(!SignatureParameters.known.isSameResource(one, other))
        #expect(!SignatureParameters.known.isSameResource(other, one))
    }

    @Test func `a user can add a way to sign URLs`() {
        var signatures = SignatureParameters.known
        signatures.schemes.append(.init("ours", marks: ["verify"], others: ["until"]))
        let pair = ("http://a/f?verify=1-x&until=3&a=b", "http://a/f?verify=2-y&until=4&a=b")
        #expect(signatures.isSameResource(pair.0, pair.1))
        #expect(!SignatureParameters.known.isSameResource(pair.0, pair.1))
        #expect(!signatures.isSameResource("http://a/f?until=3", "http://a/f?until=4"))
    }
}
