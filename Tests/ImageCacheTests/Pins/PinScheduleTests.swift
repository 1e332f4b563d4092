import Testing

@testable import DiskStore
@testable import ImageCache

@Suite("The schedule of pin sets") struct PinScheduleTests {
    private let now: Int64 = 1_700_000_000_000

    private func set(_ id: Int64 = 1, present: Int64 = 2, interval: Int64 = -1, checked: Int64 = 0) -> PinSetState {
        var set = PinSetState(
            set: id, owner: "", name: "\(id)", list: 0, maxStale: -1, interval: interval, isNew: false)
        (set.total, set.present, set.oldestCheck) = (2, present, checked)
        return set
    }

    @Test func `an incomplete set is due at once, and a complete set without an interval never`() {
        let schedule = PinSchedule()
        #expect(schedule.due([set(1, present: 1), set(2)], now: now).map(\.set) == [1])
        #expect(schedule.wait([set(2)], now: now) == PinSchedule.longest)
        #expect(schedule.wait([], now: now) == PinSchedule.longest)
    }

    @Test func `a set is due when its interval has passed, and the wait ends then`() {
        let schedule = PinSchedule()
        let fresh = set(interval: 30, checked: now - 10_000)
        #expect(schedule.due([fresh], now: now).isEmpty)
        #expect(schedule.wait([fresh], now: now) == 20_000)
        #expect(schedule.wait([fresh], now: now + 19_900) == PinSchedule.shortest)
        #expect(schedule.due([fresh], now: now + 20_000).count == 1)
        // The clock was set back.
        #expect(schedule.due([fresh], now: now - 60_000).count == 1)
    }

    @Test(arguments: [Int64.max, Int64.max / 1000 + 1, PinSchedule.longestInterval] as [Int64])
    func `a set whose interval has no number of milliseconds is never refreshed`(interval: Int64) {
        var schedule = PinSchedule()
        let endless = set(interval: interval, checked: now - 1)
        #expect(schedule.due([endless], now: now).isEmpty)
        #expect(schedule.wait([endless], now: now) == PinSchedule.longest)
        // One that fails is tried again.
        let missing = set(present: 1, interval: interval)
        schedule.tried(missing, now: now)
        #expect(schedule.due([missing], now: now).isEmpty)
        #expect(schedule.due([missing], now: now + 60_000).count == 1)
        #expect(PinSchedule.interval(.seconds(interval)) == PinSchedule.longestInterval)
    }

    @Test(
        arguments: [
            (.zero, 0), (.milliseconds(1), 1), (.milliseconds(500), 1), (.seconds(1), 1), (.milliseconds(1001), 2),
            (.milliseconds(-500), 0), (.seconds(-3), 0), (.seconds(3600), 3600),
        ] as [(Duration, Int64)])
    func `an interval is saved in whole seconds, and is no shorter than it was given`(given: Duration, saved: Int64) {
        #expect(PinSchedule.interval(given) == saved)
    }

    @Test func `a set that fails is tried at growing intervals until it succeeds`() {
        var schedule = PinSchedule()
        let missing = set(present: 1)
        var time = now
        var waits: [Int64] = []
        for _ in 0..<9 {
            schedule.tried(missing, now: time)
            let start = time
            while schedule.due([missing], now: time).isEmpty { time += schedule.wait([missing], now: time) }
            waits.append((time - start) / 60_000)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        schedule.tried(set(), now: time)
        #expect(schedule.due([missing], now: time).count == 1)
    }

    @Test func `a refresh that fails is tried again within its interval, but not more often than once a minute`() {
        var schedule = PinSchedule()
        let stale = set(interval: 10, checked: now - 100_000)
        schedule.tried(stale, now: now)
        schedule.tried(stale, now: now)
        #expect(schedule.due([stale], now: now + 59_000).isEmpty)
        #expect(schedule.due([stale], now: now + 60_000).count == 1)
    }
}
