import Foundation
import TestSupport
import Testing

/// `imgcache fleet` on a real object store.
@Suite(
    .fewAtATime(limit: .seconds(180)),
    .enabled(if: ObjectStore.unavailableReason == nil, "\(ObjectStore.unavailableReason ?? "")"))
struct FleetCommandTests {
    private let place = "s3://\(ObjectStore.bucket)/a b/ci"

    /// Writes bytes without the command, like another owner of the credentials.
    private func put(_ text: String, at key: String, _ store: ObjectStore) async throws {
        let curl = try ChildProcess(
            "curl",
            [
                "-fsS", "--noproxy", "*", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user",
                "\(ObjectStore.accessKeyID):\(ObjectStore.secretAccessKey)",
                "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "-X", "PUT", "--data-binary", text,
                "\(store.endpoint)/\(ObjectStore.bucket)/\(key)",
            ], environment: ProcessInfo.processInfo.environment)
        guard await curl.end() == .exited(0) else { throw TestSetupFailure(curl.errorOutput) }
    }

    @Test func `the fleet commands check, count, verify and clean up a bucket`() async throws {
        let representation = Representation(seed: 5, size: 20_000)
        let origin = try ScriptedOrigin { _ in Behaviour(representation) }
        let store = try await ObjectStore()
        let machine = try TestWorkspace(sharing: store)
        // The store may respond 500 at first.
        var status = try await machine.run("fleet", "status", place)
        for _ in 0..<100 where status.ending != .exited(0) {
            try await Task.sleep(for: .milliseconds(100))
            status = try await machine.run("fleet", "status", place)
        }
        #expect(status.ending == .exited(0) && status.output.contains("conditions  honoured"), "\(status)")
        for number in 1...3 {
            let fetched = try await machine.run("fetch", "-q", "--remote", place, origin.url("/\(number)"))
            #expect(fetched.ending == .exited(0), "\(fetched)")
        }
        status = try await machine.run("fleet", "status", place)
        #expect(status.output.contains("responses   3 objects"), "\(status)")
        let verified = try await machine.run("fleet", "verify", place)
        #expect(verified.ending == .exited(0) && verified.output.contains("checked 3 objects"), "\(verified)")

        try await put("something else", at: "a%20b/ci/v1/obj/00/0000", store)
        let damaged = try await machine.run("fleet", "verify", place)
        #expect(damaged.ending == .exited(5) && damaged.output.contains("damaged  v1/obj/00/0000"), "\(damaged)")
        let deleted = try await machine.run("fleet", "verify", "--delete", place)
        #expect(deleted.ending == .exited(0) && deleted.output.contains("1 damaged, 1 deleted"), "\(deleted)")
        #expect(try await machine.run("fleet", "verify", place).ending == .exited(0))

        let kept = try await machine.run("fleet", "gc", place, "--older-than", "1h")
        #expect(kept.ending == .exited(0) && kept.output.contains("deleted 0 objects"), "\(kept)")
        #expect(kept.output.contains("kept 3"), "\(kept)")
        let other = try await machine.run("fleet", "status", "s3://\(ObjectStore.bucket)/other")
        #expect(other.ending == .exited(0) && other.output.contains("objects     none"), "\(other)")
        let missing = try await machine.run("fleet", "status", "s3://missing-bucket/x")
        #expect(missing.ending == .exited(4), "\(missing)")
    }

    @Test func `an invalid place or a repeated option is a wrong command line`() async throws {
        let machine = try TestWorkspace()
        #expect(try await machine.run("fleet", "status", "bucket").ending == .exited(2))
        let repeated = try await machine.run("fleet", "init", "--days", "1", "--days", "2", "s3://bucket/x")
        #expect(repeated.ending == .exited(2) && repeated.errorOutput.contains("more than once"), "\(repeated)")
        let alone = try await machine.run("fleet", "status", "s3://bucket/x")
        #expect(alone.ending == .exited(2), "\(alone)")
    }
}
