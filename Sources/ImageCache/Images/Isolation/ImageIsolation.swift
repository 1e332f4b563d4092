import ConcurrencyPrimitives
import Digests
import Glibc
import ImageCodec
import Logging
import WorkerProcesses

/// Reads and renders images in worker processes. All functions block the thread.
final class ImageIsolation: Sendable {
    private enum State {
        case unused
        case open(WorkerPool)
        /// The reason why there are no workers, and the time of the next attempt to start them.
        case unavailable(String, until: ContinuousClock.Instant)
    }

    /// The number of retries of work whose worker was killed.
    private static let mostKills = 2
    /// The delay before another attempt to start a helper, as the system may have been short of memory or processes.
    static let pause: Duration = .seconds(10)

    private let configuration: DecoderIsolation
    private let width: Int
    private let limits: WorkerLimits
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Locked(State.unused)
    /// The start of a helper. Only threads that need the helper wait for it.
    private let starting = SharedWork<String?>()

    /// - Parameter decodes: The maximum number of concurrent images and headers. Two further workers keep the state of paused sessions.
    init(
        _ configuration: DecoderIsolation, decodes: Int, memory: Int, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.now = now
        width = min(decodes, .max - 2) + 2
        var limits = WorkerLimits()
        // A single image may exceed the limit of all images, and the memory of codecs is only estimated.
        limits.memory = min(max(memory, DecodingLimits().memory), .max / 4) * 2
        self.limits = limits
    }

    var statistics: WorkerPool.Statistics {
        state.withLock { if case .open(let pool) = $0 { pool.statistics } else { WorkerPool.Statistics() } }
    }

    /// Starts the helper if it is not running, unless an attempt has failed recently.
    ///
    /// - Returns: The reason why there are no workers, or nil if there are.
    func start() -> String? {
        if case .some(let known) = reason { return known }
        return starting.result {
            // Another thread may have started the helper in the meantime.
            if case .some(let known) = reason { return known }
            return startNow()
        }
    }

    /// The reason why there are no workers, `.some(nil)` if there are; nil if an attempt is due.
    private var reason: String?? {
        state.withLock { state in
            switch state {
            case .open: .some(nil)
            case .unavailable(let reason, let until): now() < until ? .some(reason) : nil
            case .unused: nil
            }
        }
    }

    private func startNow() -> String? {
        let earlier: String? = state.withLock { if case .unavailable(let reason, _) = $0 { reason } else { nil } }
        do throws(WorkerFailure) {
            let pool = try WorkerPool(program: configuration.helper, width: width, limits: limits)
            state.withLock { $0 = .open(pool) }
            if earlier != nil { logger.notice("images are decoded in isolation again") }
            return nil
        } catch {
            let reason = "\(error)"
            state.withLock { $0 = .unavailable(reason, until: now() + Self.pause) }
            if reason != earlier {
                let consequence =
                    configuration.isOptional ? "images are decoded without isolation" : "no image is decoded"
                logger.warning("\(consequence)", metadata: ["reason": "\(reason)"])
            }
            return reason
        }
    }

    /// True if images of a format must not be rendered in this process; `nil`: a format that is not known.
    func isUsed(for format: ImageFormat?) -> Bool {
        if let format, ImageFormat.inWorkersOnly.contains(format) { return true }
        if let formats = configuration.formats, format.map(formats.contains) != true { return false }
        return start() == nil || !isOptional
    }

    /// True if a file must not be decoded in this process.
    func isUsed(for source: ImageSource) -> Bool {
        isUsed(for: configuration.formats == nil && !isOptional ? nil : try? source.format())
    }

    var isOptional: Bool { configuration.isOptional }

    /// True if the last attempt to start a helper failed. Does not wait for a running attempt.
    var isUnavailable: Bool { state.withLock { if case .unavailable = $0 { true } else { false } } }

    private func pool() throws(ImageCodecError) -> WorkerPool {
        if let reason = start() { throw ImageCodecError(.unavailable, reason) }
        guard case .open(let pool) = state.withLock({ $0 }) else { throw ImageCodecError(.unavailable, "no workers") }
        return pool
    }

    /// Begins a session (``WorkerSession``). At its end, the worker discards the session's state.
    func session() throws(ImageCodecError) -> WorkerSession {
        let closeMessage = WorkerMessage(try ImageWorkRequest(work: .closeMessage).bytes())
        return try pool().session(endingWith: closeMessage)
    }

    /// Sends a request to a worker and receives its answers.
    ///
    /// - Parameters:
    ///   - limit: The limit of CPU seconds for this work and the earlier work of the same request.
    ///   - file: The file's descriptor and length, for its checksum.
    ///   - receive: Handles an answer and returns true if it is the last one. If a worker ended through no fault of the file, all answers
    ///     are repeated.
    /// - Returns: The time used by the request so far, including `earlier`.
    @discardableResult
    func run(
        _ request: ImageWorkRequest, _ descriptor: OpenDescriptor, in session: WorkerSession? = nil, limit: Double,
        after earlier: WorkerUse, file: (descriptor: Int32, byteCount: Int), isCancelled: () -> Bool,
        receive: (ImageWorkAnswer, WorkerMessage) -> Bool?
    ) throws(ImageCodecError) -> WorkerUse {
        let pool = try pool()
        let message = WorkerMessage(try request.bytes(), descriptors: [descriptor])
        let answer = Self.largestAnswer(within: request.decoder.limits)
        var (use, kills) = (earlier, 0)
        while true {
            do throws(WorkerFailure) {
                let bounds = WorkerPool.Bounds(limit: limit, after: use, answer: answer)
                try pool.run(message, in: session, within: bounds, adding: &use, isCancelled: isCancelled) { message in
                    guard let answer = try? ImageWorkAnswer(message) else { return nil }
                    return receive(answer, message)
                }
                return use
            } catch {
                // It was killed by another process, or by the system for lack of memory. The file may not be the cause.
                if error == .ended(signal: SIGKILL) || error == .interrupted, kills < Self.mostKills {
                    kills += 1
                    // The work starts again, but the waiting time still counts.
                    use.seconds = earlier.seconds
                    continue
                }
                throw self.error(after: error, file)
            }
        }
    }

    /// The largest answer in bytes: an encoded file of at most the decoder's memory limit, and its metadata.
    static func largestAnswer(within limits: DecodingLimits) -> Int { min(limits.memory, .max - 1 << 20) + 1 << 20 }

    /// Converts a failure to an error, and logs the checksum of a file that caused it.
    private func error(
        after failure: WorkerFailure, _ file: (descriptor: Int32, byteCount: Int)
    ) -> ImageCodecError {
        let code: ImageCodecError.Code
        switch failure {
        case .cancelled: return ImageCodecError(.cancelled, "\(failure)")
        case .unavailable, .stoodStill, .interrupted: return ImageCodecError(.unavailable, "\(failure)")
        case .timedOut: code = .limitExceeded
        case .ended: code = .crashed
        }
        let digest = try? BodyDigest.digest(.sha256, ofFile: file.descriptor, size: Int64(file.byteCount))
        logger.error(
            "an image broke its decoder",
            metadata: ["sha256": "\(digest?.hexadecimal ?? "unknown")", "reason": "\(failure)"])
        return ImageCodecError(code, "\(failure)")
    }
}
