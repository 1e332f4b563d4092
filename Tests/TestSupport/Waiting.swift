import Glibc

/// The time that a test waits for what must happen, in seconds: beside all others on a slow machine a minute may be too short.
public let patience = 600.0

/// Waits until the condition holds, and looks each millisecond.
///
/// - Returns: `false`: it did not hold within so many seconds, or the task was cancelled (by a `.timeLimit`).
@discardableResult
public func eventually(
    within seconds: Double = patience, _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
        // The clock is read first: on a loaded machine a short sleep may outlast the deadline.
        let isLate = ContinuousClock.now > deadline
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
