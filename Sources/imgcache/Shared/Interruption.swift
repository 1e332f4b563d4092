@preconcurrency import Glibc
import Locking

/// Turns Ctrl-C, SIGTERM and SIGHUP into the cancellation of the running command; a second one ends the process at once.
///
/// The handler only writes a byte to a pipe; a thread of its own reads it, so that nothing runs in the middle of anything.
final class Interruption: Sendable {
    private struct State {
        var happened = false
        var action: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    /// Whether a signal has arrived.
    var happened: Bool { state.withLock { $0.happened } }

    init() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        signalPipe = ends[1]
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { signal in
            let before = errno
            var byte = UInt8(truncatingIfNeeded: signal)
            _ = write(signalPipe, &byte, 1)
            errno = before
        }
        action.sa_flags = SA_RESTART
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaction(signal, &action, nil) }
        // A pipe whose reader is gone is an error of write(2), not the end of the process.
        signal(SIGPIPE, SIG_IGN)

        let context = Unmanaged.passRetained(Waiter(interruption: self, descriptor: ends[0])).toOpaque()
        var thread = pthread_t()
        let started = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Waiter>.fromOpaque(context).takeRetainedValue().wait()
                return nil
            }, context)
        if started == 0 { pthread_detach(thread) } else { Unmanaged<Waiter>.fromOpaque(context).release() }
    }

    /// What the first signal does; at once when it has arrived already.
    func onSignal(_ action: @escaping @Sendable () -> Void) {
        let now = state.withLock { state in
            state.action = action
            return state.happened
        }
        if now { action() }
    }

    fileprivate func signalled() {
        let (again, action) = state.withLock { state in
            defer { state.happened = true }
            return (state.happened, state.action)
        }
        if again { _exit(ExitStatus.interrupted.rawValue) }
        action?()
    }

    private final class Waiter {
        private let interruption: Interruption
        private let descriptor: Int32

        init(interruption: Interruption, descriptor: Int32) {
            self.interruption = interruption
            self.descriptor = descriptor
        }

        func wait() {
            var byte: UInt8 = 0
            while true {
                let count = read(descriptor, &byte, 1)
                if count == 1 { interruption.signalled() } else if count == 0 || errno != EINTR { return }
            }
        }
    }
}

/// Where the signal handler writes. Set once, before the handler is installed.
nonisolated(unsafe) private var signalPipe: Int32 = -1
