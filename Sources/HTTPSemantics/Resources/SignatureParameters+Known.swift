extension SignatureParameters.Scheme {
    /// The known schemes. Parameters that select a version, a snapshot or response fields (`versionId`,
    /// `response-content-type`, `rscd`) are not part of a signature: they identify the resource.
    static let known: [Self] = services + akamai

    private static let services: [Self] = [
        // Amazon S3 and compatible services: Signature Version 4 (and 4A), and 2.
        .init(
            "S3 SigV4", marks: [.init("X-Amz-Algorithm", .beginning("AWS4-")), "X-Amz-Credential", "X-Amz-Signature"],
            others: [
                "X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Region-Set", "X-Amz-Security-Token",
                "X-Amz-SignedHeaders",
            ]),
        .init("S3 SigV2", marks: ["AWSAccessKeyId", "Expires", "Signature"], others: ["x-amz-security-token"]),
        // Google Cloud Storage, V4 and V2.
        .init(
            "GCS V4",
            marks: [.init("X-Goog-Algorithm", .beginning("GOOG4-")), "X-Goog-Credential", "X-Goog-Signature"],
            others: ["X-Goog-Date", "X-Goog-Expires", "X-Goog-SignedHeaders"]),
        .init("GCS V2", marks: ["GoogleAccessId", "Expires", "Signature"]),
        // Azure Storage: service, account and user delegation SAS. `sv` is the protocol's version, a date.
        .init("Azure SAS", marks: [.init("sv", .date), "sig"], others: azure),
        // GitHub's release assets: a SAS with an additional token.
        .init("GitHub", marks: [.init("sv", .date), "sig", .init("jwt", .beginning("eyJ"))], others: azure),
        // CloudFront, with a canned and with a custom policy.
        .init("CloudFront", marks: ["Expires", "Key-Pair-Id", "Signature"], others: ["Hash-Algorithm", "Policy"]),
        .init("CloudFront", marks: ["Key-Pair-Id", "Policy", "Signature"], others: ["Expires", "Hash-Algorithm"]),
    ]

    private static let azure: Set<String> = [
        "saoid", "scid", "sdd", "se", "ses", "si", "sip", "ske", "skoid", "sks", "skt", "sktid", "skv", "sp", "spr",
        "sr",
        "srt", "ss", "st", "suoid",
    ]

    /// Akamai's tokens: one parameter each, whose value ends in a code over the rest.
    private static let akamai = ["hdnea", "hdntl", "hdnts", "__token__"].map { name in
        Self("Akamai", marks: [.init(name, .containing("hmac"))])
    }
}
