import ConcurrencyPrimitives
import Dispatch
import Foundation
public import Testing

/// See ``ProcessSlots``. A test's limit replaces that of its suite.
public struct FewAtATime: TestTrait, SuiteTrait, TestScoping {
    /// The time that a test may take in its turn, to be multiplied by ``limitFactor``.
    private let limit: Duration

    /// The trait with a limit other than the default of two minutes: about four times what the slowest take beside other load.
    public init(limit: Duration = .seconds(120)) {
        self.limit = limit
    }

    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil, !ProcessSlots.isInTurn else { return try await function() }
        let limit = test.traits.compactMap { ($0 as? FewAtATime)?.limit }.last ?? limit
        try await ProcessSlots.withTurn {
            let start = ContinuousClock.now
            defer { TestTimes.note(test, ContinuousClock.now - start) }
            try await TurnLimit(test, limit * limitFactor).perform(function)
        }
    }
}

/// Ends a test that takes too long in its turn.
private struct TurnLimit {
    private static let grace = Duration.seconds(30) * timeFactor
    private static let queue = DispatchQueue(label: "tests that do not end")

    private let test: Test
    private let limit: Duration

    init(_ test: Test, _ limit: Duration) {
        self.test = test
        self.limit = limit
    }

    /// Cancels a test that does not end, and records that as an issue. If the test does not end then either, the run ends.
    func perform(_ function: @Sendable () async throws -> Void) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await function()
                    return true
                }
                group.addTask { [limit] in
                    try await Task.sleep(for: limit)
                    return false
                }
                defer { group.cancelAll() }
                if try await group.next() == true { return }
                Issue.record(
                    "\(test.name) did not end within \(limit) of its turn", sourceLocation: test.sourceLocation)
                let end = DispatchWorkItem { [test] in
                    let text = "Fatal error: \(test.id) did not end within \(Self.grace) of its cancellation\n"
                    FileHandle.standardError.write(Data(text.utf8))
                    _exit(1)
                }
                Self.queue.asyncAfter(deadline: .now() + Self.grace / .seconds(1), execute: end)
                defer { end.cancel() }
                group.cancelAll()
                _ = try await group.next()
            }
        }
    }
}

/// The time that each test took without the wait for its turn, for `scripts/slowest-tests`.
private enum TestTimes {
    private static let file = Locked(
        ProcessInfo.processInfo.environment["IMGCACHE_TEST_TIMES"].flatMap { fopen($0, "a") }.map(SharedFile.init))

    /// - Parameter file: only used under the lock.
    private struct SharedFile: @unchecked Sendable {
        let file: UnsafeMutablePointer<FILE>
    }

    static func note(_ test: Test, _ duration: Duration) {
        file.withLock { shared in
            guard let shared else { return }
            fputs("\(duration / .seconds(1))\t\(test.id)\n", shared.file)
            fflush(shared.file)
        }
    }
}

extension Trait where Self == FewAtATime {
    /// At most six tests with this trait at a time, each for at most two minutes.
    public static var fewAtATime: FewAtATime { FewAtATime() }

    /// At most six tests with this trait at a time, each for at most so long.
    public static func fewAtATime(limit: Duration) -> FewAtATime { FewAtATime(limit: limit) }
}
