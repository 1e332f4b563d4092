import Locking
import Testing

/// Runs at most four tests at a time: each starts processes, and more of them than a small machine has cores only make
/// every one of them slow.
struct FewAtATime: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Slots.shared.take()
        defer { Slots.shared.give() }
        try await function()
    }

    private final class Slots: Sendable {
        static let shared = Slots(free: 4)

        private struct State {
            var free: Int
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state: Locked<State>

        init(free: Int) {
            state = Locked(State(free: free))
        }

        func take() async {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if state.free == 0 {
                        state.waiting.append(continuation)
                        return false
                    }
                    state.free -= 1
                    return true
                }
                if isFree { continuation.resume() }
            }
        }

        func give() {
            let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
                if state.waiting.isEmpty {
                    state.free += 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            next?.resume()
        }
    }
}

extension Trait where Self == FewAtATime {
    /// At most four tests with this trait at a time.
    static var fewAtATime: FewAtATime { FewAtATime() }
}
