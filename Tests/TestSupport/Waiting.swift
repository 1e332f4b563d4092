import Foundation
import Glibc
public import Testing

/// The factor by which programs may be slower than usual: sanitizers (`scripts/test --sanitize`) set `IMGCACHE_TEST_TIME_FACTOR`.
public let timeFactor = factor("IMGCACHE_TEST_TIME_FACTOR")

/// The factor by which tests may take longer: the factor of programs, times that of long test runs, for which `scripts/soak` sets
/// `IMGCACHE_TEST_LIMIT_FACTOR`.
let limitFactor = timeFactor * factor("IMGCACHE_TEST_LIMIT_FACTOR")

private func factor(_ variable: String) -> Int {
    max(1, ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? 1)
}

/// The time that a test waits for what must happen, in seconds.
public let patience = 60.0 * Double(timeFactor)

extension Trait where Self == TimeLimitTrait {
    /// The time limit of tests that wait without a slot (``FewAtATime``): five minutes, in parallel with all others.
    public static var timeLimit: TimeLimitTrait { .timeLimit(.minutes(5 * limitFactor)) }
}

/// Waits until the condition holds, and looks each millisecond.
///
/// It looks at least a thousand times: where thousands of tests' tasks share few threads, what is waited for has had as many turns.
///
/// - Returns: `false`: it did not hold within so many seconds, or the task was cancelled (by its limit).
@discardableResult
public func eventually(
    within seconds: Double = patience, _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    var looks = 0
    while true {
        // The clock is read first: on a loaded machine a short sleep may outlast the deadline.
        let isLate = ContinuousClock.now > deadline && looks >= 1000
        looks += 1
        if try await condition() { return true }
        if isLate || Task.isCancelled { return false }
        try? await Task.sleep(for: .milliseconds(1))
    }
}

/// Blocks the thread until the condition holds, for at most so many seconds: for work that holds a thread on purpose.
public func block(within seconds: Double = patience, until condition: () -> Bool) {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while !condition(), ContinuousClock.now < deadline { usleep(1000) }
}
