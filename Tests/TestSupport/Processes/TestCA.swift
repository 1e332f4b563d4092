import Foundation

/// A certificate authority of the test's own and a server certificate for localhost and 127.0.0.1 that it signed.
public final class TestCA: Sendable {
    private let directory: TestDirectory

    /// The CA's certificate: what `--cacert` is given.
    public var certificate: String { directory.path("ca.pem") }
    var serverCertificate: String { directory.path("server.pem") }
    var serverKey: String { directory.path("server.key") }

    public init() async throws {
        directory = try TestDirectory()
        let script = """
            set -e
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=imgcache test CA" \
                -keyout ca.key -out ca.pem
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" \
                -keyout server.key -out server.csr
            printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\n' > extensions
            openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions \
                -out server.pem
            """
        try await run(script)
    }

    /// Issues a certificate for a client, with an encrypted key.
    public func clientCertificate(passphrase: String) async throws -> (certificate: String, key: String) {
        try await run(
            """
            set -e
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -passout pass:\(passphrase) -subj "/CN=client" \
                -keyout client.key -out client.csr
            openssl x509 -req -in client.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out client.pem
            """)
        return (directory.path("client.pem"), directory.path("client.key"))
    }

    private func run(_ script: String) async throws {
        let process = try ChildProcess(
            "/bin/bash", ["-c", script], environment: ProcessInfo.processInfo.environment,
            workingDirectory: directory.path)
        guard await process.end() == .exited(0) else { throw TestSetupFailure("openssl: \(process.errorOutput)") }
    }
}

/// Something that a test needs could not be set up.
public struct TestSetupFailure: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
