import TestSupport
import Testing
import Units

@testable import Transfer

@Suite("The order of transfers")
struct ScheduleTests {
    private func all(_ schedule: inout TransferSchedule) -> [UInt64] {
        var started: [UInt64] = []
        while let id = schedule.next() { started.append(id) }
        return started
    }

    @Test func `transfers start by priority, then by arrival`() {
        var schedule = TransferSchedule(.init(total: 10, perHost: 10, perClient: .max))
        schedule.enqueue(1, host: "a", priority: .background)
        schedule.enqueue(2, host: "b", priority: .normal)
        schedule.enqueue(3, host: "a", priority: .normal)
        schedule.enqueue(4, host: "a", priority: .high)
        #expect(all(&schedule) == [4, 2, 3, 1])
    }

    @Test func `no more transfers run at once than the limit`() {
        var schedule = TransferSchedule(.init(total: 2, perHost: 10, perClient: .max))
        for id in 1...4 { schedule.enqueue(UInt64(id), host: "host\(id)", priority: .normal) }
        #expect(all(&schedule) == [1, 2])
        schedule.finished(host: "host1")
        #expect(all(&schedule) == [3])
    }

    @Test func `a host at its limit does not delay others`() {
        var schedule = TransferSchedule(.init(total: 10, perHost: 1, perClient: .max))
        schedule.enqueue(1, host: "a", priority: .high)
        schedule.enqueue(2, host: "a", priority: .high)
        schedule.enqueue(3, host: "b", priority: .background)
        #expect(all(&schedule) == [1, 3])
        schedule.finished(host: "b")
        #expect(all(&schedule) == [])
        schedule.finished(host: "a")
        #expect(all(&schedule) == [2])
    }

    @Test func `a host's own limit replaces the common one, and may change while transfers run`() {
        var schedule = TransferSchedule(.init(total: 10, perHost: 1, perClient: .max))
        for id in 1...6 { schedule.enqueue(UInt64(id), host: "a", priority: .normal) }
        schedule.enqueue(7, host: "b", priority: .normal)
        schedule.enqueue(8, host: "b", priority: .normal)
        #expect(all(&schedule) == [1, 7])
        schedule.limit("a", to: 3)
        #expect(all(&schedule) == [2, 3])
        #expect(schedule.isContended("a"))
        schedule.limit("a", to: 1)
        for _ in 0..<2 { schedule.finished(host: "a") }
        #expect(all(&schedule) == [])
        schedule.finished(host: "a")
        #expect(all(&schedule) == [4])
    }

    @Test func `a paused host starts no transfers, and resumes with all that may run`() {
        var schedule = TransferSchedule(.init(total: 10, perHost: 2, perClient: .max))
        for id in 1...3 { schedule.enqueue(UInt64(id), host: "a", priority: .high) }
        schedule.enqueue(4, host: "b", priority: .background)
        schedule.pause("a")
        #expect(all(&schedule) == [4])
        schedule.enqueue(5, host: "a", priority: .high)
        #expect(all(&schedule) == [])
        schedule.resume("a")
        #expect(all(&schedule) == [1, 2])
        // A host without waiting transfers may also be paused.
        schedule.pause("c")
        schedule.enqueue(6, host: "c", priority: .normal)
        #expect(all(&schedule) == [])
        schedule.resume("c")
        #expect(all(&schedule) == [6])
    }

    @Test func `a transfer that returns from a pause keeps its place`() {
        var schedule = TransferSchedule(.init(total: 1, perHost: 1, perClient: .max))
        let place = schedule.enqueue(1, host: "a", priority: .normal)
        schedule.enqueue(2, host: "a", priority: .normal)
        schedule.enqueue(3, host: "a", priority: .normal)
        #expect(schedule.next() == 1)
        schedule.finished(host: "a")
        #expect(schedule.next() == 2)
        schedule.enqueue(1, host: "a", priority: .normal, tag: place)
        schedule.finished(host: "a")
        #expect(schedule.next() == 1)
    }

    @Test func `a client that asks for much has its share, and the others start at once`() {
        var schedule = TransferSchedule(.init(total: 8, perHost: 8, perClient: 2))
        for id in 1...20 { schedule.enqueue(UInt64(id), host: "a", priority: .high, client: "greedy") }
        #expect(all(&schedule) == [1, 2])
        schedule.enqueue(21, host: "a", priority: .background, client: "modest")
        schedule.enqueue(22, host: "b", priority: .background)
        #expect(all(&schedule) == [21, 22])
        schedule.finished(host: "a", client: "greedy")
        #expect(all(&schedule) == [3])
    }

    @Test func `clients whose transfers wait take turns, and each one's keep their order`() {
        var schedule = TransferSchedule(.init(total: 1, perHost: 1, perClient: 1))
        for id in 1...3 { schedule.enqueue(UInt64(id), host: "a", priority: .normal, client: "first") }
        for id in 4...6 { schedule.enqueue(UInt64(id), host: "a", priority: .normal, client: "second") }
        var started: [UInt64] = []
        while let id = schedule.next() {
            started.append(id)
            schedule.finished(host: "a", client: id < 4 ? "first" : "second")
        }
        #expect(started == [1, 4, 2, 5, 3, 6])
    }

    @Test func `a withdrawn transfer never starts`() {
        var schedule = TransferSchedule(.init(total: 4, perHost: 4, perClient: .max))
        for id in 1...3 { schedule.enqueue(UInt64(id), host: "a", priority: .normal) }
        schedule.withdraw(2, host: "a", isOver: true)
        schedule.withdraw(9, host: "unknown", isOver: true)
        #expect(all(&schedule) == [1, 3])
    }

    @Test func `transfers that were withdrawn do not set their client back`() {
        var schedule = TransferSchedule(.init(total: 1, perHost: 1, perClient: .max))
        schedule.enqueue(1, host: "a", priority: .normal, client: "other")
        for id in 10..<30 { schedule.enqueue(UInt64(id), host: "a", priority: .normal, client: "first") }
        for id in 10..<30 { schedule.withdraw(UInt64(id), host: "a", client: "first", isOver: true) }
        schedule.enqueue(2, host: "a", priority: .normal, client: "first")
        for id in 3...5 { schedule.enqueue(UInt64(id), host: "a", priority: .normal, client: "second") }
        var started: [UInt64] = []
        while let id = schedule.next() {
            started.append(id)
            schedule.finished(host: "a", client: id == 1 ? "other" : id == 2 ? "first" : "second")
        }
        #expect(started == [1, 2, 3, 4, 5])
    }

    @Test func `limits below one count as one`() {
        var schedule = TransferSchedule(.init(total: 0, perHost: -3, perClient: 0))
        schedule.enqueue(1, host: "a", priority: .normal)
        schedule.enqueue(2, host: "a", priority: .normal)
        #expect(all(&schedule) == [1])
    }

    @Test func `the limits hold and every transfer runs after random operations`() {
        var generator = SeededGenerator(for: "ScheduleTests.random")
        for _ in 0..<50 {
            var schedule = TransferSchedule(.init(total: 5, perHost: 2, perClient: .max))
            var running: [(id: UInt64, host: String)] = []
            var waiting: [UInt64: (host: String, priority: TransferPriority)] = [:]
            var lastID: UInt64 = 0
            func start() {
                while let id = schedule.next() {
                    let chosen = waiting.removeValue(forKey: id)
                    #expect(chosen != nil)
                    guard let chosen else { return }
                    running.append((id, chosen.host))
                    let count = running.count { $0.host == chosen.host }
                    #expect(running.count <= 5 && count <= 2)
                    // A waiting transfer with precedence has a host at its limit.
                    for (other, claim) in waiting
                    where claim.priority > chosen.priority || (claim.priority == chosen.priority && other < id) {
                        #expect(running.count { $0.host == claim.host } >= 2)
                    }
                }
            }
            for _ in 0..<200 {
                switch Int.random(in: 0..<4, using: &generator) {
                case 0, 1:
                    lastID += 1
                    let host = "host\(Int.random(in: 0..<6, using: &generator))"
                    let priority = TransferPriority.allCases.randomElement(using: &generator) ?? .normal
                    waiting[lastID] = (host, priority)
                    schedule.enqueue(lastID, host: host, priority: priority)
                case 2:
                    guard !running.isEmpty else { continue }
                    let index = Int.random(in: 0..<running.count, using: &generator)
                    schedule.finished(host: running.remove(at: index).host)
                default:
                    guard let id = waiting.keys.sorted().randomElement(using: &generator),
                        let host = waiting.removeValue(forKey: id)?.host
                    else { continue }
                    schedule.withdraw(id, host: host, isOver: true)
                }
                start()
            }
            while let (_, host) = running.popLast() {
                schedule.finished(host: host)
                start()
            }
            #expect(waiting.isEmpty)
            #expect(schedule.running == 0)
        }
    }

    @Test func `a heap gives its elements in order`() {
        var generator = SeededGenerator(for: "ScheduleTests.heap")
        var heap = Heap<Int>()
        let numbers = (0..<200).map { _ in Int.random(in: 0..<100, using: &generator) }
        for number in numbers { heap.insert(number) }
        heap.filter { $0 % 3 != 0 }
        var sorted: [Int] = []
        while let first = heap.removeFirst() { sorted.append(first) }
        #expect(sorted == numbers.filter { $0 % 3 != 0 }.sorted())
    }
}

@Suite("Times")
struct TimeTests {
    @Test func `durations become nanoseconds and milliseconds within bounds`() {
        #expect(Duration.seconds(1.5).nanoseconds == 1_500_000_000)
        #expect(Duration.seconds(Int64.max).nanoseconds == .max)
        #expect(Duration.milliseconds(-5).nanoseconds == -5_000_000)
        #expect(Duration.nanoseconds(1).milliseconds == 1)
        #expect(Duration.zero.milliseconds == 0)
        #expect(Duration.seconds(Int64.max).milliseconds == Int(Int32.max))
        #expect(MonotonicTime(nanoseconds: 5) + .seconds(Int64.max) == MonotonicTime(nanoseconds: .max))
    }

    @Test func `durations are written for people`() {
        #expect(Duration.seconds(30).text == "30 s")
        #expect(Duration.milliseconds(250).text == "0.25 s")
        #expect(Duration.milliseconds(1005).text == "1.005 s")
    }
}
