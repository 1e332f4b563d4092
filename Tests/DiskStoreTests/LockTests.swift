import Foundation
import Locking
import TestSupport
import Testing

@testable import DiskStore

@Suite struct LockTests {
    @Test("One holder a key, within one store and between two; other keys are free")
    func exclusion() throws {
        let test = try StoreUnderTest()
        let other = try test.again()
        var held = try test.store.tryLock(EntryKey("a"))
        #expect(try test.store.tryLock(EntryKey("a")) == nil)
        #expect(try other.tryLock(EntryKey("a")) == nil)
        #expect(try other.tryLock(EntryKey("b")) != nil)
        #expect(held?.key == EntryKey("a"))
        held = nil
        #expect(try other.tryLock(EntryKey("a")) != nil)
    }

    @Test("A waiter says once that it waits, and takes over when the holder lets go")
    func waiting() async throws {
        let test = try StoreUnderTest()
        let held = Locked<KeyLock?>(try test.store.tryLock(EntryKey("a")))
        let waits = Locked(0)
        let store = test.store
        let lock = try await store.lock(EntryKey("a")) {
            waits.withLock { $0 += 1 }
            held.withLock { $0 = nil }
        }
        #expect(waits.withLock { $0 } == 1)
        #expect(try store.tryLock(EntryKey("a")) == nil)
        withExtendedLifetime(lock) {}
    }

    @Test("A waiter can be cancelled")
    func cancelling() async throws {
        let test = try StoreUnderTest()
        let held = try test.store.tryLock(EntryKey("a"))
        let store = test.store
        let (waits, continuation) = AsyncStream<Void>.makeStream()
        let waiter = Task { try await store.lock(EntryKey("a")) { continuation.finish() } }
        for await _ in waits {}
        waiter.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiter.value }
        withExtendedLifetime(held) {}
    }
}
