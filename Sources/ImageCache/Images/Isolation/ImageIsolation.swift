import ConcurrencyPrimitives
import Digests
import Glibc
import ImageCodec
import Logging
import WorkerProcesses

/// Has images read and rendered by worker processes. Its functions block the thread.
final class ImageIsolation: Sendable {
    private enum State {
        case unused
        case open(WorkerPool)
        /// The reason why there are no workers, and the time from which they are tried again.
        case unavailable(String, until: ContinuousClock.Instant)
    }

    /// Times that work is begun again after its worker was killed.
    private static let mostKills = 2
    /// The time until a helper that could not be started is tried again: the system may have been short of memory or processes.
    static let pause: Duration = .seconds(10)

    private let configuration: DecoderIsolation
    private let width: Int
    private let limits: WorkerLimits
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Locked(State.unused)
    /// The start of a helper. Only threads that need a helper wait for it.
    private let starting = SharedWork<String?>()

    /// - Parameter decodes: Images and headers at a time. Two workers more keep what sessions that pause need.
    init(
        _ configuration: DecoderIsolation, decodes: Int, memory: Int, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.now = now
        width = decodes + 2
        var limits = WorkerLimits()
        // One image may take more than all together, if it is alone; and what a codec takes is an estimate.
        limits.memory = max(memory, DecodingLimits().memory) * 2
        self.limits = limits
    }

    var statistics: WorkerPool.Statistics {
        state.withLock { if case .open(let pool) = $0 { pool.statistics } else { WorkerPool.Statistics() } }
    }

    /// Starts the helper, if there is none, and it was not tried a short time ago.
    ///
    /// - Returns: The reason why there are no workers; nil: there are.
    func start() -> String? {
        if case .some(let known) = reason { return known }
        return starting.result {
            // Another thread may have started it meanwhile.
            if case .some(let known) = reason { return known }
            return startNow()
        }
    }

    /// The reason why there are no workers, nil if there are; nil if it is to be found out.
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

    /// True if images are to be rendered by workers, or not at all.
    var isInUse: Bool { start() == nil || !isOptional }

    var isOptional: Bool { configuration.isOptional }

    /// True if the last try to start a helper failed. Does not wait for a try.
    var isUnavailable: Bool { state.withLock { if case .unavailable = $0 { true } else { false } } }

    private func pool() throws(ImageCodecError) -> WorkerPool {
        if let reason = start() { throw ImageCodecError(.unavailable, reason) }
        guard case .open(let pool) = state.withLock({ $0 }) else { throw ImageCodecError(.unavailable, "no workers") }
        return pool
    }

    /// Begins a session (``WorkerSession``), whose worker forgets it at its end.
    func session() throws(ImageCodecError) -> WorkerSession {
        let farewell = WorkerMessage(try ImageWorkRequest(work: .farewell).bytes())
        return try pool().session(endingWith: farewell)
    }

    /// Has a request answered.
    ///
    /// - Parameters:
    ///   - limit: Seconds of CPU time for this work and the earlier work of the same request together.
    ///   - file: The descriptor of the file, for its checksum.
    ///   - receive: Takes an answer; true if it is the last one. All come again when a worker was killed from outside.
    /// - Returns: The work of the request so far, with the earlier.
    @discardableResult
    func run(
        _ request: ImageWorkRequest, _ descriptor: OpenDescriptor, in session: WorkerSession? = nil, limit: Double,
        after earlier: WorkerUse, file: (descriptor: Int32, byteCount: Int), isCancelled: () -> Bool,
        receive: (ImageWorkAnswer, WorkerMessage) -> Bool?
    ) throws(ImageCodecError) -> WorkerUse {
        let pool = try pool()
        let message = WorkerMessage(try request.bytes(), descriptors: [descriptor])
        // A file that was encoded, in memory of the decoder's limit, and what is told beside it.
        let answer = request.decoder.limits.memory + 1 << 20
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
                // Somebody else killed it, or the system for want of memory: the file may have nothing to do with it.
                if error == .ended(signal: SIGKILL), kills < Self.mostKills {
                    kills += 1
                    // The work begins again; the waiting is over for good.
                    use.seconds = earlier.seconds
                    continue
                }
                throw self.error(after: error, file)
            }
        }
    }

    /// Logs what a file has done, by its checksum.
    private func error(
        after failure: WorkerFailure, _ file: (descriptor: Int32, byteCount: Int)
    ) -> ImageCodecError {
        let code: ImageCodecError.Code
        switch failure {
        case .cancelled: return ImageCodecError(.cancelled, "\(failure)")
        case .unavailable, .stoodStill: return ImageCodecError(.unavailable, "\(failure)")
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
