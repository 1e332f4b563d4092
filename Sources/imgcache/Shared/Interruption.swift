@preconcurrency import Glibc
import Locking

/// Turns Ctrl-C and SIGTERM into the cancellation of the running command; a second one ends the process at once.
///
/// The signals are blocked in every thread and taken by one thread with `sigwait`, so that no handler runs in the middle
/// of anything.
final class Interruption: Sendable {
    private struct State {
        var happened = false
        var action: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    /// Whether a signal has arrived.
    var happened: Bool { state.withLock { $0.happened } }

    /// Call before the first thread starts: threads inherit the signal mask.
    init() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGHUP)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A pipe whose reader is gone is an error of write(2), not the end of the process.
        signal(SIGPIPE, SIG_IGN)

        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let started = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Interruption>.fromOpaque(context).takeRetainedValue().waitForSignals()
                return nil
            }, context)
        if started == 0 { pthread_detach(thread) } else { Unmanaged<Interruption>.fromOpaque(context).release() }
    }

    /// What the first signal does; at once when it has arrived already.
    func onSignal(_ action: @escaping @Sendable () -> Void) {
        let now = state.withLock { state in
            state.action = action
            return state.happened
        }
        if now { action() }
    }

    private func waitForSignals() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGHUP)
        var signal: Int32 = 0
        while sigwait(&signals, &signal) == 0 {
            let (again, action) = state.withLock { state in
                defer { state.happened = true }
                return (state.happened, state.action)
            }
            if again { _exit(ExitStatus.interrupted.rawValue) }
            action?()
        }
    }
}
