import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

/// `imgcache fetch --remote`: machines are cache directories, the store is a scripted server.
@Suite(.fewAtATime) struct RemoteStoreCommandTests {
    /// A store with the S3 API as far as the command needs it, on real sockets.
    private final class Store: Sendable {
        enum Fault: CaseIterable, Sendable {
            /// Never responds; responds in time, or too late; with half of an object; with an error.
            case hung, slow, late, cut, status503
        }

        private struct Object: Sendable {
            var bytes: [UInt8]
            var sha256: String
        }

        private let objects = Locked<[String: Object]>([:])
        private let faults = Locked<Fault?>(nil)

        var fault: Fault? {
            get { faults.withLock { $0 } }
            set { faults.withLock { $0 = newValue } }
        }

        /// The names of responses' objects.
        var keys: [String] { objects.withLock { $0.keys.filter { $0.contains("/v1/obj/") } } }

        func steps(for request: ReceivedRequest) -> [OriginStep] {
            switch fault {
            case .hung: return [.stall]
            case .slow: return [.pause(milliseconds: 600)] + answer(to: request)
            case .late: return [.pause(milliseconds: 1500)] + answer(to: request)
            case .status503: return [.head(status: 503, fields: [("Content-Length", "0")])]
            case .cut, nil: return answer(to: request)
            }
        }

        private func answer(to request: ReceivedRequest) -> [OriginStep] {
            guard request["authorization"]?.hasPrefix("AWS4-HMAC-SHA256 Credential=anna/") == true else {
                return [.head(status: 403, fields: [("Content-Length", "0")])]
            }
            switch request.method {
            case "PUT":
                let object = Object(bytes: request.body, sha256: request["x-amz-meta-sha256"] ?? "")
                objects.withLock { $0[request.path] = object }
                return [.head(status: 200, fields: [("Content-Length", "0")])]
            case "GET":
                guard let object = objects.withLock({ $0[request.path] }) else {
                    return [.head(status: 404, fields: [("Content-Length", "0")])]
                }
                let head = OriginStep.head(
                    status: 200,
                    fields: [("Content-Length", "\(object.bytes.count)"), ("x-amz-meta-sha256", object.sha256)])
                guard fault != .cut else {
                    return [head, .body(Array(object.bytes.prefix(object.bytes.count / 2))), .cut(reset: false)]
                }
                return [head, .body(object.bytes)]
            default:
                objects.withLock { $0[request.path] = nil }
                return [.head(status: 204, fields: [])]
            }
        }
    }

    private let representation = Representation(seed: 71, size: 300_000)

    /// A machine that knows the store.
    private func machine(_ store: ScriptedOrigin?, key: String = "anna") throws -> TestWorkspace {
        var machine = try TestWorkspace()
        machine.command.environment["AWS_ENDPOINT_URL_S3"] = store.map { $0.url("") } ?? "http://127.0.0.1:1"
        machine.command.environment["AWS_ACCESS_KEY_ID"] = key
        machine.command.environment["AWS_SECRET_ACCESS_KEY"] = "secret"
        return machine
    }

    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { [representation] _ in Behaviour(representation) }
    }

    /// Gives the store the time that it may need on a busy computer.
    private static let patient = [
        "--remote", "s3://bucket/ci", "--remote-timeout", "2min", "--remote-connect-timeout", "2min",
    ]

    /// Has a machine download and upload a file.
    private func fill(_ store: Store, _ server: ScriptedOrigin, _ url: String) async throws {
        let (outcome, answer) = try await machine(server).fetchJSON(Self.patient + [url])
        #expect(outcome.ending == .exited(0) && answer.source == "network", "\(outcome)")
        #expect(store.keys.count == 1 && store.keys.first?.hasPrefix("/bucket/ci/v1/obj/") == true)
    }

    @Test func `another machine gets the file from the store, and does not ask the origin`() async throws {
        let (origin, store) = (try origin(), Store())
        let server = try ScriptedOrigin { store.steps(for: $0) }
        try await fill(store, server, origin.url("/a"))
        // A command with an option to wait does wait.
        for fault in [nil, Store.Fault.late] {
            store.fault = fault
            let machine = try machine(server)
            let (outcome, answer) = try await machine.fetchJSON(Self.patient + [origin.url("/a")])
            #expect(outcome.ending == .exited(0) && answer.source == "remote", "\(outcome)")
            #expect(representation.content.equalsFile(at: answer.path ?? ""))
            #expect(origin.requests.count == 1)
            try await machine.expectSoundStore()
        }
    }

    @Test(arguments: Store.Fault.allCases)
    private func `a failing remote store does not change the fetched file`(_ fault: Store.Fault) async throws {
        let (origin, store) = (try origin(), Store())
        let server = try ScriptedOrigin { store.steps(for: $0) }
        try await fill(store, server, origin.url("/a"))
        store.fault = fault
        let machine = try machine(server)
        let (outcome, answer) = try await machine.fetchJSON("--remote", "s3://bucket/ci", origin.url("/a"))
        #expect(outcome.ending == .exited(0), "\(outcome)")
        #expect(answer.source == "network" || fault == .slow, "\(outcome)")
        #expect(representation.content.equalsFile(at: answer.path ?? ""))
    }

    @Test func `an unreachable remote store, or one that refuses the keys, is reported in one line`() async throws {
        let (origin, store) = (try origin(), Store())
        let server = try ScriptedOrigin { store.steps(for: $0) }
        let urls = (0..<6).map { origin.url("/\($0)") }
        for machine in [try machine(nil), try machine(server, key: "bert")] {
            let outcome = try await machine.command.run(["fetch", "--remote", "s3://bucket", "-j", "1"] + urls)
            #expect(outcome.ending == .exited(0) && outcome.lines.count == 6, "\(outcome)")
            let told = outcome.errorOutput.split(separator: "\n").filter { $0.contains("remote store") }
            #expect(told.count == 1, "\(outcome)")
        }
        #expect(store.keys.isEmpty)
    }

    @Test func `missing keys of a remote store are a warning, and an invalid place is a usage error`() async throws {
        let origin = try origin()
        let work = try TestWorkspace()
        let outcome = try await work.fetch("--remote", "s3://bucket", origin.url("/a"))
        #expect(outcome.ending == .exited(0) && outcome.errorOutput.contains("nothing is shared"), "\(outcome)")
        for arguments in [
            ["--remote", "http://bucket"], ["--remote", "s3://Bucket"], ["--remote-private"],
            ["--remote-timeout", "2s"],
            ["--remote", "s3://bucket", "--remote-connect-timeout", "0"],
        ] {
            let wrong = try await work.command.run(["fetch"] + arguments + [origin.url("/a")])
            #expect(wrong.ending == .exited(2), "\(wrong)")
        }
    }
}
