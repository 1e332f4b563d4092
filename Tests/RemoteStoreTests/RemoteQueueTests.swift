import Testing

@testable import RemoteStore

@Suite("Changes that wait for a remote store")
struct RemoteQueueTests {
    private func queue(_ keys: [String], maxCount: Int = 4, maxBytes: Int64 = 100, width: Int = 2) -> RemoteQueue<Int> {
        var queue = RemoteQueue<Int>(maxCount: maxCount, maxBytes: maxBytes, width: width)
        for (number, key) in keys.enumerated() { _ = queue.add(.init(key: key, size: 10, work: number)) }
        return queue
    }

    @Test func `changes are sent in order, a limited number at once`() {
        var queue = queue(["a", "b", "c"])
        let begun = [queue.next()?.key, queue.next()?.key, queue.next()?.key]
        #expect(begun == ["a", "b", nil])
        queue.finished("a")
        let third = queue.next()?.key
        #expect(third == "c" && queue.waitingBytes == 0 && !queue.isIdle)
        queue.finished("b")
        queue.finished("c")
        #expect(queue.isIdle && queue.dropped == 0)
    }

    @Test func `the oldest changes are dropped if there are too many`() {
        var queue = queue(["a", "b", "c", "d", "e", "f"])
        let first = queue.next()?.key
        #expect(first == "c" && queue.dropped == 2)
    }

    @Test func `the oldest changes are dropped if they have too many bytes`() {
        var queue = queue(["a", "b", "c"], maxBytes: 25)
        let first = queue.next()?.key
        #expect(first == "b" && queue.dropped == 1)
        let dropped = queue.add(.init(key: "huge", size: 26, work: 0))
        #expect(dropped.map(\.key) == ["huge"] && queue.dropped == 2 && queue.waitingCount == 1)
    }

    @Test func `only the last change of a key waits, and no two changes of a key run at once`() {
        var queue = queue(["a", "b", "a"])
        #expect(queue.waitingCount == 2 && queue.dropped == 0)
        _ = queue.next()
        let last = queue.next()
        #expect(last?.key == "a" && last?.work == 2)
        _ = queue.add(.init(key: "a", size: 1, work: 9))
        queue.finished("b")
        let beside = queue.next()
        #expect(beside == nil)
        queue.finished("a")
        let after = queue.next()
        #expect(after?.work == 9)
    }

    @Test func `the pending change of a key is its last one`() {
        var queue = queue(["a", "b"])
        #expect(queue.pending("a") == 0 && queue.pending("other") == nil)
        _ = queue.next()
        #expect(queue.pending("a") == 0)
        _ = queue.add(.init(key: "a", size: 1, work: 9))
        #expect(queue.pending("a") == 9)
        queue.finished("a")
        _ = queue.dropWaiting()
        #expect(queue.pending("a") == nil)
    }

    @Test func `all waiting changes can be dropped`() {
        var queue = queue(["a", "b", "c"])
        _ = queue.next()
        let dropped = queue.dropWaiting()
        #expect(dropped.count == 2 && queue.dropped == 2 && queue.waitingCount == 0 && queue.waitingBytes == 0)
        queue.finished("a")
        #expect(queue.isIdle)
    }

    @Test func `urgent changes go first in their own order and are dropped last`() {
        var queue = queue(["a", "b", "c"], width: 9)
        for key in ["d", "e"] {
            let dropped = queue.add(.init(key: key, size: 10, work: 0, isUrgent: true))
            #expect(dropped.map(\.key) == (key == "d" ? [] : ["a"]))
        }
        let order = (0..<4).compactMap { _ in queue.next()?.key }
        #expect(order == ["d", "e", "b", "c"])
    }

    @Test func `a change that is replaced is handed back`() {
        var queue = queue(["a"])
        let replaced = queue.add(.init(key: "a", size: 1, work: 7))
        #expect(replaced.map(\.work) == [0] && queue.dropped == 0)
    }
}
