import HTTPTypes
import ImageProxy

extension Setting {
    /// The settings of origins and of requests to them.
    static let origins: [Setting] = [
        count(
            "origin-connections", \.originConnections, 1...10_000, "The number of concurrent transfers from the origin."
        ).reloadable.perOrigin,
        count(
            "origin-connections-per-client", \.originConnectionsPerClient, 1...10_000,
            "The limit for one client (default: a quarter of the connections at the start)."),
        time(
            "origin-connect-timeout", \.originConnectTimeout,
            "The time to resolve, connect and complete the TLS handshake."
        ).reloadable.perOrigin,
        time(
            "origin-timeout", \.originTimeout,
            "The time without a byte from the origin until the next attempt; after the last one: 504. The original of an image has ten times this in all."
        ).reloadable.perOrigin,
        count("origin-retries", \.originRetries, 0...100, "The number of retries without progress.")
            .reloadable.perOrigin,
        time(
            "default-ttl", \.defaultLifetime, mayBeZero: true,
            "The lifetime of successful responses that give none, as if the origin had sent it; 0: none."
        ).reloadable.perOrigin,
        time(
            "min-ttl", \.shortestLifetime, mayBeZero: true,
            "The shortest lifetime of successful responses, except for no-store, no-cache, private and cookies; 0: any."
        ).reloadable.perOrigin,
        time(
            "max-ttl", \.longestLifetime, mayBeZero: true,
            "The longest lifetime of a response, given or estimated from Last-Modified; 0: any."
        ).reloadable.perOrigin,
        time(
            "stale-ttl", \.staleLifetime, mayBeZero: true,
            "The time after its lifetime for which a response is served while it is validated or the origin fails; 0: as the response says."
        ).reloadable.perOrigin,
        table(
            "ttl-rules", "PATTERN:TTLS;…", \.lifetimeRules,
            "Lifetimes for some responses, by status and path at the origin: 404: default-ttl=10s; /news/*: max-ttl=1m,stale-ttl=1h.",
            value: LifetimeRuleSetting.read, text: \.text
        ).reloadable.perOrigin,
        flag(
            "override-private", \.overridesPrivate,
            "Ignore no-store, no-cache and private of the origin, except with cookies, so that the lifetimes above apply."
        ).reloadable.perOrigin,
        bytes("max-response-size", \.maxResponseSize, atLeast: 1, "The greatest size of a response from the origin.")
            .reloadable.perOrigin,
        count(
            "breaker-failures", \.breakerFailures, 0...1_000_000,
            "The number of failures (no response, 502, 503, 504) after which the clients concerned are refused for a while; 0: never."
        ).reloadable.perOrigin,
        time(
            "breaker-pause", \.breakerPause,
            "The time until one request tries again; doubled after each further failure, up to 30 s."
        ).reloadable.perOrigin,
        table(
            "set-fields", "NAME:VALUE;…", \.setFields,
            "Fields of requests to the origin, in place of clients' fields of the same names, such as a key."
        ) { name, value in
            fieldProblem(name) ?? valueProblem(value)
        }.secret.reloadable.perOrigin,
        list("drop-fields", "NAME,…", \.droppedFields, "Clients' fields that are not forwarded, such as Cookie.") {
            HTTPField.Name($0) == nil ? "must be a field name" : nil
        }.reloadable.perOrigin,
        table(
            "set-response-fields", "NAME:VALUE;…", \.setResponseFields,
            "Fields of responses to clients, errors too, in place of others of the same names, such as Access-Control-Allow-Origin."
        ) { name, value in
            responseFieldProblem(name) ?? valueProblem(value)
        }.reloadable.perOrigin,
        list(
            "drop-response-fields", "NAME,…", \.droppedResponseFields,
            "Fields that responses to clients do not have, such as Server or X-Powered-By; stored responses keep them."
        ) { responseFieldProblem($0) }.reloadable.perOrigin,
        text(
            "s3-endpoint", "URL", \.s3Endpoint,
            "The store of an origin that is a bucket (default: as AWS's tools find it, AWS_ENDPOINT_URL_S3 or AWS's own; of gs://, Google's)."
        ) { OriginLocation.endpointProblem($0) }.reloadable.perOrigin,
        text(
            "s3-region", "NAME", \.s3Region,
            "The region of an origin that is a bucket (default: AWS_REGION or us-east-1; of gs://, auto)."
        ).reloadable.perOrigin,
        text(
            "s3-profile", "NAME", \.s3Profile,
            "The profile with the keys of an origin that is a bucket (default: AWS_ACCESS_KEY_ID, or AWS_PROFILE)."
        ).reloadable.perOrigin,
        text(
            "s3-credentials-file", "FILE", \.s3CredentialsFile,
            "The file of that profile (default: AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials)."
        ) { fileProblem($0) }.reloadable.perOrigin,
        text("via-name", "NAME", \.viaName, "The name of the server in Via.") {
            HTTPField.Name($0) == nil ? "must be a token" : nil
        },
        text("request-id-header", "NAME", \.requestIDHeader, "The field of a request's id; \"off\": none.") {
            fieldProblem($0) ?? responseFieldProblem($0)
        },
        flag("forwarded", \.tellsClient, "Send the client's address to the origin, in Forwarded (RFC 7239).")
            .reloadable.perOrigin,
        flag(
            "forward-purge", \.forwardsPurge,
            "Forward PURGE requests of clients to the origin, instead of answering 405."
        )
        .reloadable.perOrigin,
        flag(
            "zsync", \.announcesControlFiles,
            "Make control files of zsync for complete stored files of at least 8 MiB, and announce them in Link, so that clients fetch only what changed."
        )
        .reloadable.perOrigin,
        list(
            "pass-fields", "NAME,…", \.passedFields,
            "Fields such as X-Forwarded-Host to forward as sent by clients; responses are then stored for each value."
        ) { HTTPField.Name($0) == nil ? "must be a field name" : nil },
        list(
            "signature-parameters", "NAME,…", \.signatureParameters,
            "Query parameters of signatures, in addition to those of S3, GCS, Azure, CloudFront and Akamai: ignored when the final URL of a redirect is compared with that of a stored response."
        ) { $0.utf8.contains { "&=#?".utf8.contains($0) } ? "must be the name of a query parameter" : nil },
        list(
            "ignored-parameters", "NAME,…", \.ignoredParameters,
            "Query parameters that do not say what is asked for: responses are stored without them and answer every value. * stands for any text."
        ) { $0.utf8.contains { "&=#?".utf8.contains($0) } ? "must be the name of a query parameter" : nil },
        list(
            "signed-hosts", "HOST,…", \.signedHosts,
            "Hosts at which the signatures of S3, GCS, Azure, CloudFront and Akamai are left out of what responses are stored under; *.example.com for all below. Whoever has the rest of such a URL then gets what is stored for it."
        ) { $0.hasPrefix("[") || !$0.contains(":") ? hostProblem($0) : "must be a host without a port" },
        flag("server-timing", \.tellsTiming, "Add the duration in the cache to responses, in Server-Timing."),
    ]

    /// Rejects fields that describe the connection or the body, which the proxy sets itself.
    private static func fieldProblem(_ name: String) -> String? {
        guard let name = HTTPField.Name(name) else { return "must be a field name" }
        let own = ["host", "content-length", "transfer-encoding", "connection", "range", "if-range", "accept-encoding"]
        return own.contains(name.canonicalName) ? "is set by the service itself" : nil
    }

    private static func responseFieldProblem(_ name: String) -> String? {
        guard let name = HTTPField.Name(name) else { return "must be a field name" }
        return ResponseFieldRules.areAllowed(for: name) ? nil : "says what the response is, and is left as it is"
    }

    static func valueProblem(_ value: String) -> String? {
        HTTPField.isValidValue(value) ? nil : "is no field value"
    }
}
