import DiskStore
import Foundation
import Glibc

/// A step of the scenario: after its end a kill must not undo it, and in the middle it has happened or not.
struct Step: Sendable {
    let name: String
    let run: @Sendable (Session) throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (Session) throws -> Void) {
        self.name = name
        self.run = run
    }
}

/// Everything that a store does in its life, in about a megabyte at a time: every system call of it is a crash point.
enum Scenario {
    private static let a1 = Body(key: "a", version: 1, size: 20_000)
    private static let a2 = Body(key: "a", version: 2, size: 30_000)
    private static let b = Body(key: "b", version: 1, size: 700_000)
    private static let c = Body(key: "c", version: 1, size: 600_000)
    private static let d = Body(key: "d", version: 1, size: 1_200_000)
    private static let e = Body(key: "e", version: 1, size: 1_300_000)
    private static let h = Body(key: "h", version: 1, size: 800_000)
    private static let i1 = Body(key: "i", version: 1, size: 900_000)
    private static let i2 = Body(key: "i", version: 2, size: 650_000)
    /// The key of a body that a step damages.
    static let damagedKey = "m"
    private static let m = Body(key: damagedKey, version: 1, size: 600_000)
    private static let p = Body(key: "p", version: 1, size: 700_000)
    private static let t = Body(key: "t", version: 1, size: 300_000)
    private static let z = Body(key: "z", version: 1, size: 300_000)

    static let steps = [
        Step("open") { _ = try $0.store },
        Step("a small body is stored") { try $0.put(a1) }, Step("a download is cut", cut),
        Step("and resumed") { try $0.resume(b) },
        Step("a body of unknown length is stored") { try $0.put(c, isLengthKnown: false) },
        Step("a body is replaced while it is read", replaceWhileRead),
        Step("metadata and dates change", change),
        Step("small bodies are stored and purged by a pattern", purgeByPattern),
        Step("a large body is stored") { try $0.put(d) },
        Step("another one, for which others are evicted") { try $0.put(e) },
        Step("a key is purged") { try $0.store.remove(EntryKey("d")) },
        Step("a body is handed out without being stored", serveUnstored),
        Step("a partial is dropped", dropPartial),
        Step("what was begun changes at the origin", changeAtOrigin),
        Step("a body is verified and read") { session in _ = try session.store.verify() },
        Step("a body is damaged and repaired", repair),
        Step("the store is pruned") { _ = try $0.store.prune(to: 1_500_000) },
        Step("and swept", sweep),
        Step("it is swept while there is a partial", sweepWithPartial),
        Step("all is cleared") { try $0.store.clear() },
        Step("a last body is stored") { try $0.put(z) },
        Step("close") { $0.close() },
    ]

    /// Runs the steps in order.
    ///
    /// - Parameter onError: Receives the failure of a step, and throws to end the scenario.
    static func run(
        _ session: Session, onError: (Step, any Error) throws -> Void = { throw Failure("\($0.name): \($1)") }
    )
        throws
    {
        for step in steps {
            session.stepClock()
            do { try step.run(session) } catch { try onError(step, error) }
            session.unpromise()
            session.page.completedSteps += 1
        }
    }

    private static func cut(_ session: Session) throws {
        let writer = try session.begin(b)
        try session.feed(writer, b, to: 650_000)
        try writer.keep()
    }

    private static func replaceWhileRead(_ session: Session) throws {
        guard let old = try session.entry("a"), let reader = try session.store.open(old) else {
            return try session.put(a2)
        }
        let before = try Body(key: old.key, header: old.metadata)
        try session.put(a2)
        guard try before.matches(reader) else { throw Failure("what is being read changed") }
    }

    private static func change(_ session: Session) throws {
        let store = try session.store
        for key in ["a", "b", "c"] {
            guard let entry = try session.entry(key) else { continue }
            try store.touch(entry)
            try store.updateMetadata(of: entry, entry.metadata)
        }
        try store.flush()
    }

    private static func purgeByPattern(_ session: Session) throws {
        try session.put(["j", "k", "l"].map { Body(key: $0, version: 1, size: 5000) })
        try session.store.remove(invalidating: .everything) { url in
            ["/j", "/k", "/l"].contains { url.hasSuffix($0) }
        }
    }

    private static func serveUnstored(_ session: Session) throws {
        let writer = try session.begin(t)
        try session.feed(writer, t, to: t.size)
        session.unpromise()
        let body = try writer.commitTransient(as: EntryKey("transient"))
        guard try t.matches(body) else { throw Failure("a body that is handed out is wrong") }
    }

    private static func dropPartial(_ session: Session) throws {
        let writer = try session.begin(h)
        try session.feed(writer, h, to: 600_000)
        try writer.keep()
        session.unpromise()
        try session.store.remove([EntryKey("h")], invalidating: .resource("http://origin/h"))
    }

    private static func repair(_ session: Session) throws {
        try session.put(m)
        let store = try session.store
        // Where a call fails, the damage may not be done, the body may be evicted, and others may be unreadable.
        if let entry = try session.entry(m.key), damage(store.path(of: entry)) {
            guard try store.verify(repair: true).failed > 0 else { throw Failure("the damage was not found") }
        }
        try session.resume(m)
        if let repaired = try session.entry(m.key), let body = try store.open(repaired) {
            guard try m.matches(body) else { throw Failure("a repaired body is wrong") }
        }
        try store.remove(EntryKey(m.key))
    }

    /// - Returns: False if a call failed.
    private static func damage(_ path: String) -> Bool {
        chmod(path, 0o600)
        defer { chmod(path, 0o400) }
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        return pwrite(descriptor, "damage", 6, 300_000) == 6
    }

    private static func changeAtOrigin(_ session: Session) throws {
        let writer = try session.begin(i1)
        try session.feed(writer, i1, to: 600_000)
        session.unpromise()
        try writer.start(header: i2.header, total: Int64(i2.size))
        try session.feed(writer, i2, to: i2.size)
        try session.commit(writer, i2)
    }

    private static func sweep(_ session: Session) throws {
        let store = try session.store
        try session.wait { try await store.sweep() }
    }

    /// The sweep fails where a call of it fails, and drops no partial that can be continued.
    private static func sweepWithPartial(_ session: Session) throws {
        let writer = try session.begin(p)
        try session.feed(writer, p, to: 600_000)
        try writer.keep()
        let result = Result { try sweep(session) }
        let folder = "\(session.directory)/partials"
        // One of two looks may be what fails: Foundation then throws, or finds no names.
        func names() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
        let found = names() + names()
        guard found.contains(where: { $0.hasSuffix(".data") }) else { throw Failure("the sweep dropped a partial") }
        session.unpromise()
        try session.store.remove([EntryKey(p.key)], invalidating: .resource("http://origin/p"))
        try result.get()
    }
}
