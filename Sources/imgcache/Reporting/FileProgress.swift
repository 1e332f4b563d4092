import ImageCache
import Units

/// The progress of one file over time. A pure value: times are arguments, in seconds of any monotonic clock.
struct FileProgress: Sendable {
    /// The seconds without a byte after which a line reports the stall instead of a rate.
    static let patience = 2.0

    let name: String
    private(set) var latest = DownloadProgress()
    /// The time of the last byte, or of the start of the wait for the first one.
    private(set) var lastByte: Double
    /// The last failure since the last byte, and the time of the next attempt.
    private(set) var failure: (reason: String, nextTry: Double)?
    /// The number of bytes received from the network.
    private(set) var transferred: Int64 = 0
    private var rate = RateMeter()

    init(name: String, at now: Double) {
        self.name = name
        lastByte = now
    }

    /// Records the current progress.
    ///
    /// - Returns: The number of bytes received from the network since the last call, without the bytes of earlier runs that a new attempt
    ///   reports first.
    mutating func apply(_ progress: DownloadProgress, at now: Double) -> Int64 {
        // A stored file was not received from the network.
        if progress.phase == .finished { return 0 }
        let before = latest
        latest = progress
        if progress.phase != before.phase {
            if case .retrying(let delay, let reason) = progress.phase {
                failure = (reason, now + delay.inSeconds)
                rate = RateMeter()
            } else if !before.isAttempting {
                // No bytes were expected before.
                lastByte = now
            }
        }
        let isResumed = progress.resumedFrom != before.resumedFrom || progress.received < before.received
        if isResumed { rate = RateMeter() }
        let bytes = max(0, progress.received - (isResumed ? progress.resumedFrom : before.received))
        if bytes > 0 {
            transferred += bytes
            lastByte = now
            failure = nil
        }
        if progress.phase == .transferring, progress.hasResponse { rate.record(bytes: transferred, at: now) }
        return bytes
    }

    /// True if an attempt is running or scheduled.
    var expectsBytes: Bool { latest.isAttempting }

    func line(at now: Double) -> ProgressLine {
        ProgressLine(
            name: name, received: latest.received, total: latest.total, resumedFrom: latest.resumedFrom,
            activity: activity(at: now))
    }

    private func activity(at now: Double) -> ProgressLine.Activity {
        if let state = latest.stateText { return .waiting(.init(reason: state)) }
        guard expectsBytes else { return .receiving(bytesPerSecond: nil) }
        let silence = now - lastByte >= Self.patience ? now - lastByte : nil
        if let failure, latest.phase != .transferring {
            return .waiting(.init(silence: silence, reason: failure.reason, nextTry: max(0, failure.nextTry - now)))
        }
        if let silence { return .waiting(.init(silence: silence, reason: failure?.reason)) }
        return .receiving(bytesPerSecond: rate.bytesPerSecond(at: now))
    }
}

extension DownloadProgress {
    fileprivate var isAttempting: Bool {
        if case .retrying = phase { return true }
        return phase == .transferring
    }

    /// A description of the phase, if no bytes are expected from the origin.
    fileprivate var stateText: String? {
        if phase == .queued { return "queued" }
        if phase == .waitingForOther { return "waiting for another imgcache" }
        return phase == .storing ? "storing" : nil
    }
}
