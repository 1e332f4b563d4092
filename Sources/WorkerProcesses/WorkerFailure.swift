/// The reason why work in a worker process has no result.
package enum WorkerFailure: Error, Sendable, Hashable {
    /// The process ended: by a signal, or without an answer and without a signal (nil).
    case ended(signal: Int32?)
    /// The process ended through no fault of its work: before the work began, or together with its helper.
    case interrupted
    /// The process was killed because the work took too long: the CPU time that it had used, or the time that the caller had waited, in
    /// seconds.
    case timedOut(seconds: Double)
    /// The process was killed because it used no CPU time for so many seconds: it was stopped, or waited for something that never came.
    case stoodStill(seconds: Double)
    /// The process was killed because its result was no longer needed.
    case cancelled
    /// No process could be started or contacted, for this reason.
    case unavailable(String)
}

extension WorkerFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        // SIGSYS: the signal of seccomp(2).
        case .ended(31): "the worker process made a forbidden system call"
        case .ended(let signal?): "the worker process ended by signal \(signal)"
        case .ended(nil): "the worker process ended without an answer"
        case .interrupted: "the worker process ended before it did the work"
        case .timedOut(let seconds): "the worker process was stopped after \(Int(seconds.rounded())) s"
        case .stoodStill(let seconds): "the worker process did nothing for \(Int(seconds.rounded())) s"
        case .cancelled: "nobody wants the result any more"
        case .unavailable(let reason): "no worker process can be used: \(reason)"
        }
    }
}
