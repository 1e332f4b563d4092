import Foundation
import TestSupport
import Testing

/// Machines, which are cache directories, that share downloads through a real object store.
@Suite(
    .fewAtATime(limit: .seconds(180)),
    .enabled(if: ObjectStore.unavailableReason == nil, "\(ObjectStore.unavailableReason ?? "")"))
struct SharedDownloadTests {
    private let representation = Representation(seed: 72, size: 500_000)

    @Test func `a second machine gets the file from the remote store, or from the origin if the store is gone`()
        async throws
    {
        let origin = try ScriptedOrigin { [representation] _ in Behaviour(representation) }
        let store = try await ObjectStore()
        let place = "s3://\(ObjectStore.bucket)/a+b (c)!*'/ci"
        var shared: String?
        // The store may respond 500 at first, and on a busy computer later than it is given.
        for number in 1...40 where shared == nil {
            let path = "/\(number)"
            let (one, other) = (try TestWorkspace(sharing: store), try TestWorkspace(sharing: store))
            let first = try await one.fetchJSON("--remote", place, origin.url(path))
            #expect(first.outcome.ending == .exited(0) && first.answer.source == "network", "\(first.outcome)")
            let second = try await other.fetchJSON("--remote", place, origin.url(path))
            #expect(second.outcome.ending == .exited(0), "\(second.outcome)")
            #expect(representation.content.equalsFile(at: second.answer.path ?? ""))
            if second.answer.source == "remote" {
                #expect(origin.requests(to: path).count == 1)
                try await other.expectSoundStore()
                shared = path
            } else {
                try await Task.sleep(for: .milliseconds(250))
            }
        }
        let path = try #require(shared, "no machine got a file from the store")
        await store.kill()
        let third = try TestWorkspace(sharing: store)
        let (outcome, answer) = try await third.fetchJSON("--remote", place, origin.url(path))
        #expect(outcome.ending == .exited(0) && answer.source == "network", "\(outcome)")
        #expect(representation.content.equalsFile(at: answer.path ?? ""))
        #expect(origin.requests(to: path).count == 2)
    }
}
