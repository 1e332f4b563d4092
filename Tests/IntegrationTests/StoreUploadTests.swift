import ConcurrencyPrimitives
import Fleet
import Foundation
import ImageCache
import Logging
import TestSupport
import Testing

/// Uploads to a shared store that are slow, over real connections: the store is a scripted server.
@Suite(.fewAtATime) struct StoreUploadTests {
    /// A store with the S3 API as far as a cache needs it, which may leave long uploads without a response.
    private final class Store: Sendable {
        private struct State {
            var objects: [String: (bytes: [UInt8], sha256: String)] = [:]
            var stalls = false
            /// Long uploads that were not taken.
            var refused = 0
            var stalled = 0
        }

        private static let longSize = 1 << 16
        private let state = Locked(State())

        var stalled: Int { state.withLock { $0.stalled } }
        var refused: Int { state.withLock { $0.refused } }

        /// Refuses the next long upload with 503, and does not respond to those after it.
        func stall() { state.withLock { $0.stalls = true } }

        func steps(for request: ReceivedRequest) -> [OriginStep] {
            state.withLock { state in
                switch request.method {
                case "PUT" where state.stalls && request.body.count > Self.longSize:
                    if state.refused == 0 {
                        state.refused += 1
                        return [Self.status(503)]
                    }
                    state.stalled += 1
                    return [.stall]
                case "PUT":
                    if request["if-none-match"] != nil, state.objects[request.path] != nil { return [Self.status(412)] }
                    state.objects[request.path] = (request.body, request["x-amz-meta-sha256"] ?? "")
                    return [Self.status(200)]
                case "DELETE":
                    state.objects[request.path] = nil
                    return [.head(status: 204, fields: [])]
                default:
                    guard let object = state.objects[request.path] else { return [Self.status(404)] }
                    let fields = [("Content-Length", "\(object.bytes.count)"), ("x-amz-meta-sha256", object.sha256)]
                    return [.head(status: 200, fields: fields), .body(object.bytes)]
                }
            }
        }

        private static func status(_ status: Int) -> OriginStep {
            .head(status: status, fields: [("Content-Length", "0")])
        }
    }

    private let folder: TestDirectory
    private let origin: ScriptedOrigin

    init() throws {
        folder = try TestDirectory()
        origin = try ScriptedOrigin(sendBuffer: nil) { _ in Behaviour(Representation(seed: 1, size: 200_000)) }
    }

    private func machine(_ name: String, _ store: ScriptedOrigin) throws -> DownloadCache {
        var remote = RemoteStoreConfiguration(
            location: try S3Location(endpoint: store.url(""), bucket: "bucket"),
            credentials: S3Credentials(accessKeyID: "anna", secretKey: "secret"))
        // Nothing ends by a time-out here.
        remote.setReadTimeouts(.seconds(600))
        remote.writeTimeout = .seconds(600)
        remote.invalidationInterval = nil
        var configuration = DownloadCache.Configuration()
        configuration.remote = remote
        configuration.sweepsInBackground = false
        configuration.logger.logLevel = .critical
        return try DownloadCache(directory: folder.path(name), configuration: configuration)
    }

    @Test func `uploads that take all their places do not delay a look-up`() async throws {
        let store = Store()
        let server = try ScriptedOrigin(sendBuffer: nil) { store.steps(for: $0) }
        let one = try machine("one", server)
        _ = try await one.file(for: origin.url("/shared"))
        await one.close()

        let other = try machine("other", server)
        store.stall()
        // A 503 makes an engine that adapts itself send fewer requests at a time.
        _ = try await other.file(for: origin.url("/refused"))
        #expect(await eventually { store.refused == 1 && other.remoteStatistics?.droppedUploads == 1 })
        for number in 0..<4 { _ = try await other.file(for: origin.url("/\(number)")) }
        #expect(await eventually { store.stalled >= 3 })
        #expect(try await other.file(for: origin.url("/shared")).source == .remote)
        // None of them has ended.
        #expect(other.remoteStatistics?.droppedUploads == 1 && other.remoteStatistics?.uploads == 0)
        #expect(await eventually { store.stalled == 4 })
        await other.close(uploadingFor: .zero)
    }
}
