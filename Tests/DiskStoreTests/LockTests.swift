import ConcurrencyPrimitives
import Foundation
import TestSupport
import Testing

@testable import DiskStore

@Suite(.timeLimit) struct LockTests {
    @Test func `a key has one holder, within a store and between two, and other keys stay free`() throws {
        let test = try StoreUnderTest()
        let other = try test.again()
        var held = try test.store.tryLock(EntryKey("a"))
        #expect(try test.store.tryLock(EntryKey("a")) == nil)
        #expect(try other.tryLock(EntryKey("a")) == nil)
        #expect(try other.tryLock(EntryKey("b")) != nil)
        #expect(held != nil)
        held = nil
        #expect(try other.tryLock(EntryKey("a")) != nil)
    }

    @Test func `a host has a limited number of places among all stores on a directory`() throws {
        let test = try StoreUnderTest()
        let other = try test.again()
        var held = [
            try test.store.place(with: "http://a:80", of: 3), try other.place(with: "http://a:80", of: 3),
            try test.store.place(with: "http://a:80", of: 3),
        ]
        #expect(held.allSatisfy { $0 != nil })
        for store in [test.store, other] {
            #expect(try store.place(with: "http://a:80", of: 3) == nil)
            #expect(try store.place(with: "http://b:80", of: 3) != nil)
        }
        held[1] = nil
        let last = try test.store.place(with: "http://a:80", of: 3)
        #expect(last != nil)
        #expect(try other.place(with: "http://a:80", of: 3) == nil)
        // Places are no keys.
        #expect(try other.tryLock(EntryKey("http://a:80")) != nil)
        withExtendedLifetime((held, last)) {}
    }

    @Test func `a waiter takes over when the holder releases the lock`() async throws {
        let test = try StoreUnderTest()
        let held = Locked<ByteLock?>(try test.store.tryLock(EntryKey("a")))
        let waits = Locked(0)
        let store = test.store
        let lock = try await store.lock(EntryKey("a")) { _ in
            waits.withLock { $0 += 1 }
            held.withLock { $0 = nil }
            return true
        }
        #expect(lock != nil)
        #expect(waits.withLock { $0 } == 1)
        #expect(try store.tryLock(EntryKey("a")) == nil)
        withExtendedLifetime(lock) {}
    }

    @Test func `a waiter can be cancelled`() async throws {
        let test = try StoreUnderTest()
        let held = try test.store.tryLock(EntryKey("a"))
        let store = test.store
        let (waits, continuation) = AsyncStream<Void>.makeStream()
        let waiter = Task {
            try await store.lock(EntryKey("a")) { _ in
                continuation.finish()
                return true
            }
        }
        for await _ in waits {}
        waiter.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiter.value }
        withExtendedLifetime(held) {}
    }

    @Test func `a waiter whose patience ends continues without the lock`() async throws {
        let test = try StoreUnderTest()
        let held = try test.store.tryLock(EntryKey("a"))
        var looks = 0
        let lock = try await test.store.lock(EntryKey("a")) { _ in
            looks += 1
            return looks < 3
        }
        #expect(lock == nil)
        #expect(looks == 3)
        withExtendedLifetime(held) {}
    }

    @Test func `a waiter sees that the holder's download grows`() async throws {
        let test = try StoreUnderTest()
        let held = try test.store.tryLock(EntryKey("a"))
        let writer = try test.store.beginBody(for: EntryKey("a"))
        try writer.start(header: [1], total: nil)
        var seen: [Int64] = []
        _ = try await test.again().lock(EntryKey("a")) { progress in
            seen.append(progress)
            _ = try? writer.write(pattern(1 << 20))
            return seen.count < 3
        }
        #expect(seen == seen.sorted() && Set(seen).count == 3, "\(seen)")
        withExtendedLifetime(held) {}
    }
}
