import ConcurrencyPrimitives
import FoundationEssentials

/// The rules by which sequential reads load more than they ask for. A pure value.
struct ReadAheadPlan {
    /// The bytes of the first window, and of the largest. Each window has twice the length of the one before.
    static let first = RangePlan.block
    static let largest = RangePlan.window

    /// The end of the last read.
    private var end: Int64?
    private var length: Int64 = 0

    /// Notes a read.
    ///
    /// - Parameter isLoaded: True if a window contains the start of the read.
    /// - Returns: True if the read starts where the last one ended, or in a window.
    mutating func note(_ range: Range<Int64>, isLoaded: Bool) -> Bool {
        let isSequential = isLoaded || range.lowerBound == end
        if !isSequential { length = 0 }
        end = range.upperBound
        return isSequential
    }

    /// The window to load for sequential reads at a position. It ends where a block does.
    mutating func window(at position: Int64) -> Range<Int64> {
        length = min(max(Self.first, length * 2), Self.largest)
        let (end, overflow) = (position - position % Self.first).addingReportingOverflow(length)
        return position..<(overflow ? .max : end)
    }

    /// Returns true if the window after the one that ends here is loaded in advance.
    func loadsNext(at position: Int64, before end: Int64) -> Bool { end - position <= length / 2 }
}

/// The windows of one sequential reader: at most the one that it reads and the next one.
final class ReadAhead: Sendable {
    typealias Load = @Sendable (Range<Int64>) async throws(ImageCacheError) -> Data

    private final class Window: Sendable {
        let range: Range<Int64>
        let bytes = Promise<Result<Data, ImageCacheError>>()
        private let task: Task<Void, Never>

        init(_ range: Range<Int64>, on executor: BlockingExecutor, _ load: @escaping Load) {
            self.range = range
            task = Task(executorPreference: executor) { [bytes] in
                do throws(ImageCacheError) { bytes.fulfill(.success(try await load(range))) } catch {
                    bytes.fulfill(.failure(error))
                }
            }
        }

        deinit { task.cancel() }

        /// True if the file ends in it or before it, or it could not be loaded.
        var isLast: Bool {
            guard let bytes = bytes.settled() else { return false }
            return (try? bytes.get().count < range.count) ?? true
        }
    }

    private struct State {
        var plan = ReadAheadPlan()
        var windows: [Window] = []
    }

    private let state = Locked(State())
    private let executor: BlockingExecutor
    private let load: Load

    /// - Parameter load: Loads bytes of the file: fewer at its end, and none beyond it.
    init(on executor: BlockingExecutor, load: @escaping Load) {
        self.executor = executor
        self.load = load
    }

    func read(_ range: Range<Int64>) async throws(ImageCacheError) -> Data {
        guard !range.isEmpty else { return Data() }
        let isSequential = state.withLock { state in
            let isLoaded = state.windows.contains { $0.range.contains(range.lowerBound) }
            let isSequential = state.plan.note(range, isLoaded: isLoaded)
            if !isSequential { state.windows = [] }
            return isSequential
        }
        // A window would be no longer than this.
        if !isSequential || range.count >= ReadAheadPlan.largest { return try await load(range) }
        var data = Data()
        while data.count < range.count {
            let position = range.lowerBound + Int64(data.count)
            let window = window(at: position)
            guard let loaded = await window.bytes.value() else { throw .cancelled }
            let bytes: Data
            do throws(ImageCacheError) { bytes = try loaded.get() } catch {
                state.withLock { $0.windows.removeAll { $0 === window } }
                throw error
            }
            let start = Int(position - window.range.lowerBound)
            guard start < bytes.count else { break }
            data.append(bytes[start..<min(bytes.count, start + range.count - data.count)])
            if bytes.count < window.range.count { break }
        }
        loadNext(after: range.lowerBound + Int64(data.count))
        return data
    }

    private func window(at position: Int64) -> Window {
        state.withLock { state in
            if let window = state.windows.first(where: { $0.range.contains(position) }) { return window }
            return add(at: position, reading: position, &state)
        }
    }

    private func add(at start: Int64, reading position: Int64, _ state: inout State) -> Window {
        let window = Window(state.plan.window(at: start), on: executor, load)
        state.windows = state.windows.filter { $0.range.contains(position) } + [window]
        return window
    }

    private func loadNext(after position: Int64) {
        state.withLock { state in
            guard let last = state.windows.last, last.range.contains(position), !last.isLast,
                state.plan.loadsNext(at: position, before: last.range.upperBound)
            else { return }
            _ = add(at: last.range.upperBound, reading: position, &state)
        }
    }
}
