import ConcurrencyPrimitives
import FoundationEssentials

/// The server's traffic, by second for ten minutes, and by minute for a day, and its latest totals.
///
/// In memory only, about 200 KB.
final class TrafficHistory: Sendable {
    /// The two resolutions, in seconds.
    enum Step: Int, Sendable {
        case second = 1
        case minute = 60

        var capacity: Int { self == .second ? 600 : 1440 }
    }

    private struct State {
        var seconds = SeriesRing<TrafficPoint>(step: Step.second.rawValue, capacity: Step.second.capacity)
        var minutes = SeriesRing<TrafficPoint>(step: Step.minute.rawValue, capacity: Step.minute.capacity)
        /// The latest totals, and the time at which they were read.
        var last: Reading?
        /// The reading at the start of the current minute.
        var minuteBegan: Reading?
        /// One reading a second, the oldest first, for averages over the last minute.
        var minute: [Reading] = []
    }

    private struct Reading {
        var time: Double
        var totals: TrafficTotals
    }

    private let state = Locked(State())

    /// Records a reading of the totals.
    func note(_ totals: TrafficTotals, at date: Date) {
        let now = Reading(time: date.timeIntervalSince1970, totals: totals)
        state.withLock { state in
            defer {
                state.last = now
                state.minute.append(now)
                if state.minute.count > 61 { state.minute.removeFirst() }
            }
            guard let last = state.last, let minuteBegan = state.minuteBegan, now.time > last.time else {
                // The first reading, or the clock was set back.
                state.minuteBegan = now
                state.minute.removeAll()
                return
            }
            let point = TrafficPoint(from: last.totals, to: totals, seconds: now.time - last.time)
            state.seconds.note(point, until: Int(now.time))
            guard Int(now.time) / 60 > Int(minuteBegan.time) / 60 else { return }
            let minute = TrafficPoint(from: minuteBegan.totals, to: totals, seconds: now.time - minuteBegan.time)
            state.minutes.note(minute, until: Int(now.time))
            state.minuteBegan = now
        }
    }

    /// The points of the steps from `since` on; nil for those before the server's start.
    func slice(_ step: Step, since: Int?, now: Date) -> (start: Int, points: [TrafficPoint?]) {
        let now = Int(now.timeIntervalSince1970)
        let (start, values) = state.withLock { state in
            step == .second ? state.seconds.slice(since: since, now: now) : state.minutes.slice(since: since, now: now)
        }
        return (start, values)
    }

    /// The latest totals.
    var totals: TrafficTotals { state.withLock { $0.last?.totals } ?? TrafficTotals() }

    /// The average of the last minute; nil before there are two readings.
    var recent: TrafficPoint? {
        state.withLock { state in
            guard let first = state.minute.first, let last = state.minute.last, last.time > first.time else {
                return nil
            }
            return TrafficPoint(from: first.totals, to: last.totals, seconds: last.time - first.time)
        }
    }
}
