import ConcurrencyPrimitives
@preconcurrency import Glibc

/// Turns Ctrl-C, SIGQUIT, SIGTERM and SIGHUP into the cancellation of the running command. A second signal ends the process immediately.
///
/// A command may block where cancellation has no effect, such as on a pipe without a reader or a FIFO without a writer
/// (``BlockingSection``). It is ended shortly after the signal, as the store is safe at any instruction.
///
/// The handler only writes a byte to a pipe, which a separate thread reads, so that no other code runs in the handler.
final class Interruption: Sendable {
    private struct State {
        var isSignalled = false
        var isReported = false
        var action: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    /// True if a signal has arrived.
    var isSignalled: Bool { state.withLock { $0.isSignalled } }

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
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] where !Self.isIgnored(signal) {
            sigaction(signal, &action, nil)
        }
        // Writing to a pipe without a reader becomes an error of write(2).
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

    /// True if the process was started with the signal ignored, as `nohup` and scripts with background jobs do.
    private static func isIgnored(_ signal: Int32) -> Bool {
        var former = sigaction()
        guard sigaction(signal, nil, &former) == 0 else { return false }
        let handler = unsafeBitCast(former.__sigaction_handler.sa_handler, to: Int.self)
        return handler == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Sets the action for the first signal. If that has already arrived, the action runs immediately.
    func onSignal(_ action: @escaping @Sendable () -> Void) {
        let now = state.withLock { state in
            state.action = action
            return state.isSignalled
        }
        if now { action() }
    }

    /// Records that the interruption was reported to the user.
    func isReported() { state.withLock { $0.isReported = true } }

    /// Waits for another signal, or until the time for an orderly end is over, and then ends the process.
    fileprivate func awaitEnd(_ descriptor: Int32) {
        // On a busy machine an orderly end takes longer.
        for patience in [Int32(700), 2300] {
            var next = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&next, 1, patience) != 0 { return }
            if BlockingSection.isEntered { break }
        }
        endNow()
    }

    private func endNow() -> Never {
        let isReported = state.withLock { $0.isReported }
        var standardError = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        // The blocked operation may be a write to standard error.
        if !isReported, poll(&standardError, 1, 0) == 1, standardError.revents & Int16(POLLOUT) != 0 {
            Output.error("interrupted; run the same command again to continue")
        }
        _exit(ExitStatus.interrupted.rawValue)
    }

    fileprivate func signalled() {
        let (again, action) = state.withLock { state in
            defer { state.isSignalled = true }
            return (state.isSignalled, state.action)
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
                if interruption.isSignalled { interruption.awaitEnd(descriptor) }
                let count = read(descriptor, &byte, 1)
                if count == 1 { interruption.signalled() } else if count == 0 || errno != EINTR { return }
            }
        }
    }
}

/// The descriptor that the signal handler writes to. Set once, before the handler is installed.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// Work that may block on a pipe and that cancellation cannot interrupt.
enum BlockingSection {
    private static let entered = Locked(0)

    static var isEntered: Bool { entered.withLock { $0 > 0 } }

    static func enter() { entered.withLock { $0 += 1 } }
    static func leave() { entered.withLock { $0 -= 1 } }
}
