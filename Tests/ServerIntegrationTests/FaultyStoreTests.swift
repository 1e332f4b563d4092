import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

/// A service whose shared store fails or lies: the store is a scripted server.
@Suite(.fewAtATime(limit: .seconds(180))) struct FaultyStoreTests {
    enum Fault: CaseIterable, Sendable {
        /// Accepts, and never responds.
        case hung
        /// Responds after 600 ms.
        case slow
        case status500, status503, status403
        /// Responds with other bytes, with fewer than announced, without their digest, with what was stored for another key.
        case wrongBytes, cut, wrongDigest, otherObject
        /// Takes no more objects.
        case full
    }

    /// A store with the S3 API as far as a service needs it.
    private final class Store: Sendable {
        private struct Object: Sendable {
            var bytes: [UInt8]
            var sha256: String
        }

        private struct State {
            var objects: [String: Object] = [:]
            var fault: Fault?
        }

        private let state = Locked(State())

        var count: Int { state.withLock { state in state.objects.count { $0.key.contains("/v1/obj/") } } }

        func set(_ fault: Fault?) { state.withLock { $0.fault = fault } }

        func steps(for request: ReceivedRequest) -> [OriginStep] {
            switch state.withLock({ $0.fault }) {
            case .hung: [.stall]
            case .slow: [.pause(milliseconds: 600)] + answer(to: request)
            case .status500: [status(500)]
            case .status503: [status(503)]
            case .status403: [status(403)]
            case .full where request.method == "PUT": [status(507)]
            case let fault: answer(to: request, fault)
            }
        }

        private func status(_ status: Int) -> OriginStep { .head(status: status, fields: [("Content-Length", "0")]) }

        private func answer(to request: ReceivedRequest, _ fault: Fault? = nil) -> [OriginStep] {
            switch request.method {
            case "PUT":
                let object = Object(bytes: request.body, sha256: request["x-amz-meta-sha256"] ?? "")
                let isStored = state.withLock { state in
                    if request["if-none-match"] != nil, state.objects[request.path] != nil { return false }
                    state.objects[request.path] = object
                    return true
                }
                return [status(isStored ? 200 : 412)]
            case "DELETE":
                state.withLock { $0.objects[request.path] = nil }
                return [.head(status: 204, fields: [])]
            default:
                guard var object = state.withLock({ $0.objects[request.path] }) else { return [status(404)] }
                switch fault {
                case .wrongBytes: object.bytes[object.bytes.count / 2] ^= 1
                case .wrongDigest: object.sha256 = String(repeating: "0", count: 64)
                case .otherObject:
                    let kind = request.path.contains("/v1/img/") ? "/v1/img/" : "/v1/obj/"
                    let other = state.withLock { state in
                        state.objects.first { $0.key != request.path && $0.key.contains(kind) }
                    }
                    object = other?.value ?? object
                default: break
                }
                let head = OriginStep.head(
                    status: 200,
                    fields: [("Content-Length", "\(object.bytes.count)"), ("x-amz-meta-sha256", object.sha256)])
                guard fault != .cut else {
                    return [head, .body(Array(object.bytes.dropLast(100))), .cut(reset: false)]
                }
                return [head, .body(object.bytes)]
            }
        }
    }

    private func server(
        _ origin: ScriptedOrigin, _ store: ScriptedOrigin, waiting time: String
    ) async throws -> ServerProcess {
        try await ServerProcess(
            origin: origin.url(""), "--remote", "s3://bucket/x", "--remote-timeout", time, "--remote-connect-timeout",
            time,
            environment: [
                "AWS_ENDPOINT_URL_S3": store.url("").replacing(#//$/#, with: ""), "AWS_ACCESS_KEY_ID": "anna",
                "AWS_SECRET_ACCESS_KEY": "secret",
            ])
    }

    private static let paths = (0..<8).flatMap { ["/p-\($0)", "/image/w=64,f=png/p-\($0)"] }
    private static let reserve = 80

    /// The responses of a sound service, by path. Its objects are in the store when this returns.
    private func fill(_ origin: ScriptedOrigin, _ store: Store, _ server: ScriptedOrigin) async throws -> [String:
        [UInt8]]
    {
        var expected: [String: [UInt8]] = [:]
        let service = try await self.server(origin, server, waiting: "2min")
        let client = try Client(service.port)
        for path in Self.paths {
            let answer = try #require(client.get(path))
            #expect(answer.status == 200, "\(answer.text)")
            expected[path] = answer.body
        }
        for number in 0..<Self.reserve { #expect(client.get("/r-\(number)")?.status == 200) }
        #expect(await eventually { store.count >= Self.reserve })
        await service.stop()
        return expected
    }

    @Test(arguments: Fault.allCases)
    func `a store that fails or lies changes no response, and is used again when it works`(_ fault: Fault) async throws
    {
        let (origin, store) = (try NumberedPictures.origin(), Store())
        let server = try ScriptedOrigin(sendBuffer: nil) { store.steps(for: $0) }
        let expected = try await fill(origin, store, server)
        store.set(fault)
        // On a busy computer a response may take long; this fault is that it does.
        let service = try await self.server(origin, server, waiting: fault == .slow ? "1s" : "5s")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (path, body) in expected {
                group.addTask {
                    let answer = try #require(try Client(service.port).get(path))
                    #expect(answer.status == 200 && answer.body == body, "\(path): \(answer.statusLine)")
                }
            }
            try await group.waitForAll()
        }
        store.set(nil)
        // The store is tried again after a pause, which each failure has doubled.
        for number in 0..<Self.reserve {
            let path = "/r-\(number)"
            let answer = try #require(try Client(service.port).get(path))
            #expect(answer.status == 200 && answer.body == NumberedPictures.picture(path))
            if answer["Cache-Status"]?.contains("REMOTE") == true { return }
            try await Task.sleep(for: .milliseconds(number < Self.reserve / 2 ? 250 : 1000))
        }
        Issue.record("the store is not used again: \(service.process.errorOutput)")
    }
}
