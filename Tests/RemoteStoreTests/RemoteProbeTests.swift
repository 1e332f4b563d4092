import ConcurrencyPrimitives
import FoundationEssentials
import HTTPTypes
import Testing
import Transfer

@testable import RemoteStore

@Suite("The probe of a remote store")
struct RemoteProbeTests {
    private func outcome(
        _ script: @escaping @Sendable (TransferRequest) -> FixtureTransport.Answer
    ) async throws -> (Result<RemoteProbe.Outcome, RemoteError>, [TransferRequest]) {
        let transport = FixtureTransport(script)
        let configuration = RemoteStoreConfiguration(
            location: try S3Location(endpoint: "http://store:8333", bucket: "bucket", prefix: "ci"),
            credentials: S3Credentials(accessKeyID: "id", secretKey: "secret"))
        let probe = RemoteProbe(
            S3Tier(configuration, over: transport, sizeLimit: 1000, now: { Date() }), number: 0xabc)
        do throws(RemoteError) {
            return (.success(try await probe.outcome()), transport.requests)
        } catch {
            return (.failure(error), transport.requests)
        }
    }

    @Test func `a store that refuses the second upload honours conditions, and nothing is left there`() async throws {
        for rejection in [HTTPResponse.Status.preconditionFailed, .conflict] {
            let uploads = Locked(0)
            let (outcome, requests) = try await outcome { request in
                guard request.method == .put else { return .response(.noContent) }
                return .response(
                    uploads.withLock {
                        $0 += 1; return $0
                    } == 1 ? .ok : rejection)
            }
            #expect(outcome == .success(.honoursConditions))
            #expect(requests.map(\.method) == [.put, .put, .delete])
            #expect(requests.allSatisfy { $0.url == "http://store:8333/bucket/ci/v1/probe/abc" })
            #expect(requests.prefix(2).allSatisfy { $0.fields[.ifNoneMatch] == "*" })
        }
    }

    @Test func `a store that accepts both uploads or does not implement conditions ignores conditions`()
        async throws
    {
        let (ignored, requests) = try await outcome { _ in .response(.ok) }
        #expect(ignored == .success(.ignoresConditions) && requests.last?.method == .delete)
        let (missing, _) = try await outcome { _ in
            .response(.notImplemented, body: Array("<Error><Code>NotImplemented</Code></Error>".utf8))
        }
        #expect(missing == .success(.ignoresConditions))
    }

    @Test func `refused credentials and a missing bucket are distinguished from other failures`() async throws {
        let cases: [(HTTPResponse.Status, String, RemoteError.Rejection?)] = [
            (.forbidden, "InvalidAccessKeyId", .credentials), (.forbidden, "SignatureDoesNotMatch", .credentials),
            (.unauthorized, "", .credentials), (.notFound, "NoSuchBucket", .noBucket),
            (.forbidden, "RequestTimeTooSkewed", nil), (.internalServerError, "InternalError", nil),
        ]
        for (status, code, rejection) in cases {
            let (outcome, _) = try await outcome { _ in
                .response(status, body: Array("<Error><Code>\(code)</Code></Error>".utf8))
            }
            guard case .failure(let error) = outcome else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(error.rejection == rejection)
        }
    }
}
