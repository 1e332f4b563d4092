import Testing

@testable import RemoteStore

@Suite("The log of a fleet")
struct RemoteLogTests {
    // MARK: Writing

    /// Appends an entry; the log head's summary is the first byte of each entry so far.
    private func append(_ content: [UInt8], to log: RemoteLog) async throws(RemoteError) -> RemoteLogPosition {
        try await log.append(content) { former, entries in
            let position = entries.last?.position ?? former.position
            return LogHead(position, summary: former.summary.map { $0 + entries.compactMap(\.content?.first) })
        }.position
    }

    private func logHead(_ tier: MemoryTier) async throws -> LogHead {
        try #require(try await tier.get(LogHead.name).flatMap { LogHead($0) })
    }

    @Test func `a log head summarises all entries up to its position, even after an outdated log head`() async throws {
        let tier = MemoryTier()
        let log = RemoteLog(tier, honoursConditions: true)
        _ = try await append([1], to: log)
        let late = try await logHead(tier)
        _ = try await append([2], to: log)
        _ = try await tier.put(late.encoded(), at: LogHead.name, .none)
        _ = try await append([3], to: log)
        #expect(try await logHead(tier).summary == [1, 2, 3])
    }

    @Test func `a log head that replaces invalid bytes has no summary of earlier entries`() async throws {
        let tier = MemoryTier()
        _ = try await tier.put(Array("garbage".utf8), at: LogHead.name, .none)
        _ = try await append([1], to: RemoteLog(tier, honoursConditions: true))
        #expect(try await logHead(tier).summary == nil)
    }

    @Test(arguments: [true, false])
    func `entries get ascending numbers, and the log head names the last one`(_ honours: Bool) async throws {
        let tier = MemoryTier(honoursConditions: honours)
        let log = RemoteLog(tier, honoursConditions: honours)
        let first = try await append([1], to: log)
        let second = try await append([2], to: log)
        #expect(first.entry == 1 && second.entry == 2 && first.log == second.log)
        #expect(try await tier.get(second.name) == [2])
        #expect(try await tier.get(LogHead.name).flatMap { LogHead($0) }?.position == second)
    }

    @Test func `no entry of many concurrent writers is lost`() async throws {
        let tier = MemoryTier()
        let positions = try await withThrowingTaskGroup(of: RemoteLogPosition.self) { group in
            for number in 0..<50 {
                group.addTask { try await self.append([UInt8(number)], to: RemoteLog(tier, honoursConditions: true)) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(positions.map(\.entry).sorted() == Array(1...50) && Set(positions.map(\.log)).count == 1)
    }

    @Test func `an outdated or invalid log head loses no entries`() async throws {
        let tier = MemoryTier()
        let log = RemoteLog(tier, honoursConditions: true)
        let first = try await append([1], to: log)
        _ = try await append([2], to: log)
        _ = try await tier.put(LogHead(first, summary: []).encoded(), at: LogHead.name, .none)
        #expect(try await append([3], to: log).entry == 3)
        _ = try await tier.put(Array("garbage".utf8), at: LogHead.name, .none)
        let anew = try await append([4], to: log)
        #expect(anew.entry == 1 && anew.log != first.log)
    }

    // MARK: Positions

    @Test func `a log position is read back from a number and from a log head`() {
        let position = RemoteLogPosition(log: 1 << 23 - 1, entry: 1 << 40 - 1)
        #expect(RemoteLogPosition(number: position.number) == position && position.number > 0)
        for summary: [UInt8]? in [nil, [], [10, 0, 10]] {
            let logHead = LogHead(position, summary: summary)
            #expect(LogHead(logHead.encoded()) == logHead && logHead.encoded() != logHead.encoded())
        }
    }

    @Test(arguments: ["", "1", "1 2", "0 1 a", "1 -1 a", "8388608 1 a", "1 1099511627776 a", "a b c", "1 1 a b"])
    func `an invalid log head is rejected`(text: String) { #expect(LogHead(Array(text.utf8)) == nil) }

    // MARK: Reading

    /// A cursor that expressions may change.
    private final class Subject {
        private var cursor: RemoteLogCursor

        init(_ place: RemoteLogCursor.Place) { cursor = RemoteLogCursor(place) }

        var place: RemoteLogCursor.Place { cursor.place }

        /// Reads the log whose present entries are these; returns those read, and true if some were missed.
        func read(logHead: RemoteLogPosition?, _ entries: [Int64]) -> (read: [Int64], missed: Bool) {
            var missed = cursor.advanced(logHead)
            var read: [Int64] = []
            while let next = cursor.next {
                if next.log == logHead?.log, entries.contains(next.entry) {
                    read.append(next.entry)
                    cursor.found()
                } else if cursor.absent() {
                    missed = true
                } else {
                    break
                }
            }
            return (read, missed)
        }
    }

    private func position(_ entry: Int64, log: UInt32 = 7) -> RemoteLogPosition {
        RemoteLogPosition(log: log, entry: entry)
    }

    @Test func `a new machine starts reading at the end of the log`() {
        let subject = Subject(.unknown)
        #expect(subject.read(logHead: position(5), [3, 4, 5, 6]) == ([6], false))
        #expect(subject.place == .at(position(6)))
    }

    @Test func `a machine that started before the first entry reads all entries`() {
        let subject = Subject(.unknown)
        #expect(subject.read(logHead: nil, []) == ([], false))
        #expect(subject.read(logHead: position(2), [1, 2, 3]) == ([1, 2, 3], false))
    }

    @Test func `a machine that was away reads the missed entries, even after an outdated log head`() {
        let subject = Subject(.at(position(2)))
        #expect(subject.read(logHead: position(4), [3, 4, 5]) == ([3, 4, 5], false))
        #expect(subject.read(logHead: position(3), [3, 4, 5]) == ([], false))
    }

    @Test func `deleted entries are reported as missed, and later ones are read`() {
        let subject = Subject(.at(position(2)))
        #expect(subject.read(logHead: position(9), [8, 9, 10]) == ([10], true))
        #expect(subject.place == .at(position(10)))
    }

    @Test func `a restarted log is reported as missed`() {
        let subject = Subject(.at(position(2)))
        #expect(subject.read(logHead: position(1, log: 8), [1, 2]) == ([2], true))
        let absent = Subject(.at(position(2)))
        #expect(absent.read(logHead: nil, []) == ([], false))
        #expect(
            absent.read(logHead: position(1, log: 8), [1, 2]) == ([1, 2], false), "not by one who saw its beginning")
    }

    @Test func `a position in the log is stored as a number`() {
        for place in [RemoteLogCursor.Place.unknown, .beforeFirst, .at(position(3))] {
            #expect(RemoteLogCursor(number: RemoteLogCursor(place).number).place == place)
        }
        #expect(RemoteLogCursor(number: -1).place == .unknown)
    }
}
