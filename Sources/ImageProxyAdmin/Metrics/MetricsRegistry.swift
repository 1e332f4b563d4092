import ConcurrencyPrimitives
import Metrics
import Synchronization
import Units

/// A backend of swift-metrics that keeps all metrics in memory, for `/metrics` and for the page.
///
/// A counter costs an atomic addition, a timer a short lock.
final class MetricsRegistry: MetricsFactory, Sendable {
    /// A metric's name and dimensions, the latter by name.
    struct Identity: Hashable, Sendable {
        let label: String
        let dimensions: [Dimension]

        struct Dimension: Hashable, Sendable {
            let name: String
            let value: String
        }

        init(_ label: String, _ dimensions: [(String, String)]) {
            self.label = label
            self.dimensions = dimensions.map { Dimension(name: $0.0, value: $0.1) }.sorted { $0.name < $1.name }
        }

        func value(of dimension: String) -> String? { dimensions.first { $0.name == dimension }?.value }
    }

    enum Cell: Sendable {
        case counter(CounterCell)
        case gauge(GaugeCell)
        case timer(TimerCell)
    }

    private let cells = Locked<[Identity: Cell]>([:])
    private let readers = Locked<[@Sendable () -> Void]>([])

    /// All metrics so far.
    var all: [Identity: Cell] {
        for read in readers.withLock({ $0 }) { read() }
        return cells.withLock { $0 }
    }

    /// Registers a closure that sets gauges before they are read.
    func beforeReading(_ read: @escaping @Sendable () -> Void) { readers.withLock { $0.append(read) } }

    private func cell<Found: Sendable>(_ identity: Identity, _ pick: (Cell) -> Found?, make: () -> (Found, Cell))
        -> Found
    {
        cells.withLock { cells in
            if let found = cells[identity].flatMap(pick) { return found }
            let (made, cell) = make()
            cells[identity] = cell
            return made
        }
    }

    // MARK: MetricsFactory

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        cell(Identity(label, dimensions)) { cell in
            if case .counter(let counter) = cell { counter } else { nil }
        } make: {
            let counter = CounterCell()
            return (counter, .counter(counter))
        }
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeCell {
        cell(Identity(label, dimensions)) { cell in
            if case .gauge(let gauge) = cell { gauge } else { nil }
        } make: {
            let gauge = GaugeCell()
            return (gauge, .gauge(gauge))
        }
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { gauge(label, dimensions) }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        gauge(label, dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        cell(Identity(label, dimensions)) { cell in
            if case .timer(let timer) = cell { timer } else { nil }
        } make: {
            let timer = TimerCell()
            return (timer, .timer(timer))
        }
    }

    private func remove(_ handler: AnyObject) {
        cells.withLock { cells in
            if let found = cells.first(where: { $0.value.object === handler }) { cells[found.key] = nil }
        }
    }

    func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}

extension MetricsRegistry.Cell {
    fileprivate var object: AnyObject {
        switch self {
        case .counter(let cell): cell
        case .gauge(let cell): cell
        case .timer(let cell): cell
        }
    }
}

/// A counter.
final class CounterCell: CounterHandler, Sendable {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { count.store(0, ordering: .relaxed) }
}

/// A gauge. Recorders keep their last value.
final class GaugeCell: MeterHandler, RecorderHandler, Sendable {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
    func increment(by amount: Double) { change(by: amount) }
    func decrement(by amount: Double) { change(by: -amount) }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }

    private func change(by amount: Double) {
        var before = bits.load(ordering: .relaxed)
        while true {
            let after = (Double(bitPattern: before) + amount).bitPattern
            let (exchanged, original) = bits.compareExchange(expected: before, desired: after, ordering: .relaxed)
            if exchanged { return }
            before = original
        }
    }
}

/// A histogram of durations.
final class TimerCell: TimerHandler, Sendable {
    private let histogram = Locked(DurationHistogram())

    var value: DurationHistogram { histogram.withLock { $0 } }

    func recordNanoseconds(_ duration: Int64) { histogram.withLock { $0.note(duration) } }
}
