import Glibc

/// A thread of our own. It gets no signals: those are the program's business, and a broken pipe is an error of `write`
/// here. Threads that it starts inherit that.
public struct SystemThread: Sendable {
    /// There is no thread to be had.
    public struct Failure: Error {
        /// The error number, usually `EAGAIN`.
        public let code: Int32
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let id: pthread_t

    /// Starts it. ``detach()`` or ``join()`` must follow.
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

    /// Nobody waits for its end.
    public func detach() { pthread_detach(id) }

    /// Waits for its end; on the thread itself there is nothing to wait for.
    public func join() {
        if pthread_equal(id, pthread_self()) != 0 { detach() } else { pthread_join(id, nil) }
    }
}
