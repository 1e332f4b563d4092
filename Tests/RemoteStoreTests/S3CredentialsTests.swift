import Testing

@testable import RemoteStore

@Suite("Credentials of a remote store")
struct S3CredentialsTests {
    private static let file = """
        # comment
        [default]
        aws_access_key_id = A1
        aws_secret_access_key=s/1+=
        [ other ]
        AWS_ACCESS_KEY_ID=A2
          aws_secret_access_key = s2\t
        aws_session_token = t2
        ; another comment
        [lacking]
        aws_access_key_id = A3
        """

    private func found(
        _ environment: [String: String], file: String? = file
    ) throws -> S3Credentials {
        try S3Credentials.found(
            environment: { environment[$0] }, file: { $0 == "/home/a/.aws/credentials" ? file : nil })
    }

    @Test func `credentials in the environment precede those in the file`() throws {
        let credentials = try found([
            "AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t", "HOME": "/home/a",
        ])
        #expect(credentials == S3Credentials(accessKeyID: "E", secretKey: "s", sessionToken: "t"))
    }

    @Test func `credentials are read from the default profile of the shared file`() throws {
        #expect(try found(["HOME": "/home/a"]) == S3Credentials(accessKeyID: "A1", secretKey: "s/1+="))
    }

    @Test func `credentials are read from a named profile of a named file`() throws {
        let environment = ["AWS_PROFILE": "other", "AWS_SHARED_CREDENTIALS_FILE": "/home/a/.aws/credentials"]
        #expect(try found(environment) == S3Credentials(accessKeyID: "A2", secretKey: "s2", sessionToken: "t2"))
    }

    @Test(arguments: [
        ["AWS_ACCESS_KEY_ID": "E"], [:], ["HOME": "/nowhere"], ["HOME": "/home/a", "AWS_PROFILE": "lacking"],
        ["HOME": "/home/a", "AWS_PROFILE": "unknown"],
    ])
    func `missing or incomplete credentials are an error`(environment: [String: String]) {
        #expect(throws: RemoteConfigurationError.self) { try found(environment) }
    }
}
