import ConcurrencyPrimitives
import Foundation
public import Testing

/// See ``ProcessSlots``.
public struct FewAtATime: TestTrait, SuiteTrait, TestScoping {
    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await ProcessSlots.withTurn {
            let start = ContinuousClock.now
            defer { TestTimes.note(test, ContinuousClock.now - start) }
            try await function()
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
    /// At most four tests with this trait at a time.
    public static var fewAtATime: FewAtATime { FewAtATime() }
}
