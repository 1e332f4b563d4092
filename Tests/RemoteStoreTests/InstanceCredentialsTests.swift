import ConcurrencyPrimitives
import FoundationEssentials
import HTTPTypes
import Testing
import Transfer

@testable import RemoteStore

@Suite("Keys of an instance's role")
struct InstanceCredentialsTests {
    private static let start = Date(timeIntervalSince1970: 1_700_000_000)
    private static let path = "http://imds/latest/meta-data/iam/security-credentials/"

    /// A metadata service whose keys hold for an hour from the time that its clock has.
    private final class Service: Sendable {
        let clock = Locked(InstanceCredentialsTests.start)
        let isDown = Locked(false)
        let fetches = Locked(0)

        func answer(_ request: TransferRequest) -> FixtureTransport.Answer {
            if isDown.withLock({ $0 }) { return .failure(.connect) }
            let token = HTTPField.Name("X-aws-ec2-metadata-token")
            switch (request.method, request.url) {
            case (.put, "http://imds/latest/api/token"):
                let lifetime = HTTPField.Name("X-aws-ec2-metadata-token-ttl-seconds")
                guard let lifetime, request.fields[lifetime] == "21600" else { return .response(.badRequest) }
                return .response(.ok, body: Array("token".utf8))
            case (.get, InstanceCredentialsTests.path):
                guard let token, request.fields[token] == "token" else { return .response(.unauthorized) }
                return .response(.ok, body: Array("my-role\nother".utf8))
            case (.get, InstanceCredentialsTests.path + "my-role"):
                guard let token, request.fields[token] == "token" else { return .response(.unauthorized) }
                let number = fetches.withLock { fetches in
                    fetches += 1
                    return fetches
                }
                let end = clock.withLock { $0 }.addingTimeInterval(3600).formatted(.iso8601)
                return .response(
                    .ok,
                    body: Array(
                        """
                        {"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "A\(number)", "SecretAccessKey": "s",
                        "Token": "t", "Expiration": "\(end)"}
                        """.utf8))
            default: return .response(.notFound)
            }
        }
    }

    private func credentials(_ service: Service) -> (InstanceCredentials, FixtureTransport) {
        let transport = FixtureTransport { service.answer($0) }
        let role = InstanceRole(over: transport) { $0 == "AWS_EC2_METADATA_SERVICE_ENDPOINT" ? "http://imds/" : nil }
        return (InstanceCredentials(role, now: { service.clock.withLock { $0 } }), transport)
    }

    @Test func `keys are fetched with a token, once, and again five minutes before they end`() async throws {
        let service = Service()
        let (credentials, transport) = credentials(service)
        for _ in 0..<2 {
            #expect(
                try await credentials.credentials()
                    == S3Credentials(accessKeyID: "A1", secretKey: "s", sessionToken: "t"))
        }
        #expect(transport.requests.map(\.method) == [.put, .get, .get])
        service.clock.withLock { $0 += 3299 }
        #expect(try await credentials.credentials().accessKeyID == "A1")
        service.clock.withLock { $0 += 1 }
        #expect(try await credentials.credentials().accessKeyID == "A2")
    }

    @Test func `valid keys are used if they cannot be renewed, until they expire`() async throws {
        let service = Service()
        let (credentials, _) = credentials(service)
        _ = try await credentials.credentials()
        service.isDown.withLock { $0 = true }
        service.clock.withLock { $0 += 3599 }
        #expect(try await credentials.credentials().accessKeyID == "A1")
        service.clock.withLock { $0 += 2 }
        await #expect(throws: RemoteError.self) { try await credentials.credentials() }
        service.isDown.withLock { $0 = false }
        #expect(try await credentials.credentials().accessKeyID == "A2")
    }

    @Test func `the metadata service has a time-out of one second and no retries`() async throws {
        let (credentials, transport) = credentials(Service())
        _ = try await credentials.credentials()
        for request in transport.requests {
            #expect(request.options.connectTimeout == .seconds(1) && request.options.retry.maxRetries == 0)
        }
    }

    @Test(arguments: [
        "", "{}", "null", #"{"Code": "AssumeRoleUnauthorizedAccess"}"#,
        #"{"Code":"Failed","AccessKeyId":"a","SecretAccessKey":"s","Token":"t","Expiration":"2030-01-01T00:00:00Z"}"#,
        #"{"Code":"Success","AccessKeyId":"a","SecretAccessKey":"s","Token":"t","Expiration":"soon"}"#,
    ])
    func `a document without keys is rejected`(text: String) { #expect(InstanceRole.keys(in: text) == nil) }

    @Test func `requests to the store are signed with the role's keys`() async throws {
        let service = Service()
        let transport = FixtureTransport { request in
            request.url.hasPrefix("http://imds/") ? service.answer(request) : .response(.ok)
        }
        var configuration = RemoteStoreConfiguration(
            location: try S3Location(endpoint: "http://store:8333", bucket: "bucket"), credentials: .ofInstance)
        configuration.transport = transport
        let tier = S3Tier(
            configuration, over: transport, sizeLimit: 1000, now: { Self.start },
            instance: InstanceRole(over: transport) { _ in "http://imds" })
        #expect(try await tier.put([1], at: "k", .none))
        let put = try #require(transport.requests.last)
        #expect(put.fields[.authorization]?.contains("Credential=A1/") == true)
        #expect(put.fields[try #require(HTTPField.Name("X-Amz-Security-Token"))] == "t")
    }

    @Test func `credentials of the instance are found if its metadata service is configured`() throws {
        let found = try S3Credentials.found(
            environment: { $0 == "AWS_EC2_METADATA_SERVICE_ENDPOINT" ? "http://imds" : nil }, file: { _ in nil })
        #expect(found == .ofInstance)
    }
}
