import Testing

@testable import imgcache

/// The queue that the workers of a run take from.
@Suite(.timeLimit(.minutes(5))) struct WorkQueueTests {
    @Test func `a work queue hands out its elements in order, also to waiting callers`() async {
        let queue = WorkQueue<Int>(isComplete: false)
        await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var taken: [Int] = []
                    while let (element, place) = await queue.next() {
                        #expect(element == place)
                        taken.append(element)
                    }
                    return taken
                }
            }
            for element in 0..<1000 {
                queue.add(element)
                if element % 100 == 0 { await Task.yield() }
            }
            queue.complete()
            var all: [Int] = []
            for await taken in group {
                #expect(taken == taken.sorted())
                all += taken
            }
            #expect(all.sorted() == Array(0..<1000))
        }
    }

    @Test func `a postponed element is handed out once more, after all others`() async {
        let queue = WorkQueue([1, 2, 3])
        #expect(await queue.next()?.element == 1)
        queue.postpone(0)
        var rest: [Int] = []
        while let (element, _) = await queue.next() { rest.append(element) }
        #expect(rest == [2, 3, 1])
    }

    @Test func `a caller that waits for an element that was put back ends with the one that took it`() async {
        for isCompleteFirst in [true, false] {
            let queue = WorkQueue([1], isComplete: false)
            #expect(await queue.next()?.element == 1)
            async let waiting = queue.next()
            while queue.waitingCount == 0 { await Task.yield() }
            queue.postpone(0)
            if isCompleteFirst { queue.complete() }
            #expect(await queue.next()?.element == 1)
            if !isCompleteFirst { queue.complete() }
            #expect(await queue.next() == nil)
            #expect(await waiting == nil)
        }
    }

    @Test func `a queue that is stopped gives nothing more`() async {
        let queue = WorkQueue([1, 2, 3], isComplete: false)
        #expect(await queue.next()?.element == 1)
        async let waiting = queue.next()
        queue.stop()
        _ = await waiting
        #expect(await queue.next() == nil)
        #expect(queue.elements == [1, 2, 3])
    }
}
