import Glibc

/// A dedicated thread. Signals are blocked in it and in the threads that it starts: they are handled by the program,
/// and a broken pipe is an error of `write` here.
public struct SystemThread: Sendable {
    /// A thread could not be created.
    public struct Failure: Error {
        /// The error number, usually `EAGAIN`.
        public let code: Int32
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let id: pthread_t

    /// Starts the thread. ``detach()`` or ``join()`` must follow.
    public init(_ run: @escaping @Sendable () -> Void) throws(Failure) {
        var id = pthread_t()
        let work = Unmanaged.passRetained(Work(run))
        let code = pthread_create(
            &id, nil,
            { work in
                guard let work else { return nil }
                let running = Unmanaged<Work>.fromOpaque(work).takeRetainedValue()
                var signals = sigset_t()
                sigfillset(&signals)
                pthread_sigmask(SIG_BLOCK, &signals, nil)
                running.run()
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw Failure(code: code)
        }
        self.id = id
    }

    /// Detaches the thread: its end is not waited for.
    public func detach() { pthread_detach(id) }

    /// Waits for the thread's end; does nothing on the thread itself.
    public func join() {
        if pthread_equal(id, pthread_self()) != 0 { detach() } else { pthread_join(id, nil) }
    }
}
