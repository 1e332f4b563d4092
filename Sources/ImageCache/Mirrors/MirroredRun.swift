import Digests
import HTTPSemantics
import HTTPTypes
import Transfer
import Units

/// One transfer from mirrors: tries the sources in turn until the body is complete. A source may be joined by others.
///
/// Used by one task only.
final class MirroredRun {
    /// A transfer from the request's own origin alone, whose response announced mirrors.
    struct First {
        let outcome: Result<TransferResult, TransferError>
        /// The head that the last body began with.
        let head: ResponseHead
        let resumedFrom: Int64
        /// The number of bytes that were held before.
        let held: Int64
    }

    /// The number of bad pieces after which a source is refused.
    private static let mostBadPieces = 3

    private let transport: MirroringTransport
    private let request: TransferRequest
    private let sink: CheckingSink
    private let events: @Sendable (TransferEvent) -> Void
    private var sources: [Mirror]
    /// The URLs of those that responses announced, also of earlier ones.
    private var announced: Set<String> = []
    /// Sources that are not tried again.
    private var refused: Set<String> = []
    /// Sources that failed in the current round.
    private var failed: Set<String> = []
    /// The times before which sources asked not to be asked again.
    private var due: [String: ContinuousClock.Instant] = [:]
    private let startedAt = ContinuousClock.now
    /// Sources whose representation differs from the body's. They may only serve a body alone.
    private var unjoinable: Set<String> = []
    private var badPieces: [String: Int] = [:]
    private var round = 0
    /// The sources that have sent bytes of the current body.
    private var contributors: Set<String> = []
    /// True if a body may be joined from several sources; false after a joined body had the wrong digest.
    private var joins = true
    private var received: Int64 = 0
    private var attempts = 0
    private let heldAtFirst: Int64
    /// The transfer before the run, until its outcome is judged.
    private var first: First?
    /// The digest in the response at the start of the body, if it can be verified.
    private var announcedDigest: Digest?
    /// The outcome when no source is left.
    private var last: Result<TransferResult, TransferError>?

    init(
        _ transport: MirroringTransport, _ request: TransferRequest, _ sink: any BodySink,
        _ events: @escaping @Sendable (TransferEvent) -> Void, after first: First? = nil
    ) {
        self.transport = transport
        self.first = first
        self.request = request
        self.events = events
        self.sink = CheckingSink(sink, transport.integrity)
        let own = transport.mirrors.contains { $0.url == request.url } ? [] : [Mirror(request.url)]
        sources = own + transport.mirrors
        heldAtFirst = first?.held ?? sink.held()?.heldBytes ?? 0
        // The source of an earlier run's partial is not known.
        if heldAtFirst > 0 { contributors = [""] }
    }

    func outcome() async throws(TransferError) -> TransferResult {
        while let source = try await nextSource() {
            do throws(TransferError) {
                let result =
                    if let first = try takeFirst(from: source) { first } else { try await transfer(from: source) }
                guard result.outcome == .status else { return finished(result) }
                let isFinal = !mayAskAgain(source, after: result.head)
                guard hasOthers(than: source) || hasAnotherRound || !isFinal && mayRepeat else {
                    return finished(result)
                }
                putAside(source, "answered \(result.head.status.code)", forGood: isFinal, .success(result))
            } catch {
                try await judge(error, of: source)
            }
        }
        switch last {
        case .success(let result): return finished(result)
        case .failure(let error): throw completed(error)
        case nil: throw TransferError(.invalidRequest, url: request.url, "there is no source")
        }
    }

    // MARK: Sources

    /// The next source, or `nil` if there is none left. Pauses before it starts another round.
    private func nextSource() async throws(TransferError) -> Mirror? {
        if let source = candidates.first { return source }
        guard mayRepeat, sources.contains(where: { !refused.contains($0.url) }), last?.mayPass == true
        else { return nil }
        let now = ContinuousClock.now
        let waits = failed.map { url in due[url].map { $0 - now } ?? .zero }
        let pause = max(
            request.options.retry.delay(beforeRetry: round + 1, random: .random(in: 0..<1)), waits.min() ?? .zero)
        if let limit = request.options.retry.maxTotalTime, now - startedAt + pause > limit { return nil }
        round += 1
        failed = failed.filter { url in due[url].map { $0 > now + pause } ?? false }
        do { try await Task.sleep(for: pause) } catch {
            throw completed(TransferError(.cancelled, url: request.url, "the transfer was cancelled"))
        }
        return candidates.first
    }

    private var candidates: [Mirror] {
        let left = sources.filter { !refused.contains($0.url) && !failed.contains($0.url) }
        let ordered = transport.rates.ordered(left)
        // A partial is resumed, and a stored body revalidated, at its own resource, unless a digest verifies the whole body.
        guard let url = request.conditions?.url ?? (proves ? nil : sink.held()?.url),
            let first = ordered.firstIndex(where: { transport.signatures.isSameResource($0.url, url) })
        else { return ordered }
        return [ordered[first]] + ordered[..<first] + ordered[(first + 1)...]
    }

    private func hasOthers(than source: Mirror) -> Bool {
        sources.contains { $0.url != source.url && !refused.contains($0.url) && !failed.contains($0.url) }
    }

    /// True if a source that failed only for now will be tried again. The status of another source then decides nothing.
    private var hasAnotherRound: Bool { mayRepeat && !failed.isEmpty && last?.mayPass == true }

    /// True if the limit of rounds allows another one. A single source is tried again by its transfer.
    private var mayRepeat: Bool { sources.count > 1 && round < request.options.retry.maxRetries }

    /// Notes when a source may be asked again after an error status. Returns false if it is not asked again.
    private func mayAskAgain(_ source: Mirror, after head: ResponseHead) -> Bool {
        guard RetryState.isRetryable(status: head.status.code) else { return false }
        guard let wait = head.retryAfter else { return true }
        due[source.url] = .now + wait
        return wait <= request.options.retry.retryAfterLimit
    }

    /// True if the body will be verified by a digest, so that bytes of several sources may be joined.
    private var proves: Bool {
        guard joins else { return false }
        // A joined body is stored under the digest of the request, or of the response in its record.
        if !transport.mirrors.isEmpty, let digest = transport.digest { return digest.algorithm.isCollisionResistant }
        return announcedDigest != nil
    }

    /// True if a digest identifies the whole body even against forgery. Otherwise announced mirrors are ignored (RFC 6249 section 6).
    private var isIdentified: Bool { transport.digest?.algorithm.isCollisionResistant ?? (announcedDigest != nil) }

    private func putAside(
        _ source: Mirror, _ reason: String, forGood: Bool, _ outcome: Result<TransferResult, TransferError>
    ) {
        if case .success = outcome, hasAnotherRound {} else { last = outcome }
        if forGood { refused.insert(source.url) } else { failed.insert(source.url) }
        if hasOthers(than: source) {
            transport.tell(.putAside(url: URLText.withoutUserinfo(source.url), reason: reason))
        }
    }

    /// Adds the mirrors that the current response announces, if the body will be verified.
    private func takeAnnounced(in head: ResponseHead?) {
        guard transport.usesAnnouncedMirrors, let head else { return }
        if head.status == .ok {
            let digest = DigestFields.digest(in: head.fields, of: head.status)
            announcedDigest = digest.flatMap { (try? RunningDigest($0.algorithm)) == nil ? nil : $0 }
        }
        guard isIdentified else {
            sources.removeAll { announced.contains($0.url) }
            return
        }
        for mirror in DuplicateLinks.mirrors(in: head.fields, base: head.finalURL)
        where announced.count < DuplicateLinks.most && !sources.contains(where: { $0.url == mirror.url }) {
            announced.insert(mirror.url)
            // Behind the mirrors of the request.
            sources.append(Mirror(mirror.url, priority: 1_000_000 + mirror.priority))
        }
    }

    // MARK: One transfer

    /// The result of the transfer before the run, if it is not judged yet.
    private func takeFirst(from source: Mirror) throws(TransferError) -> TransferResult? {
        guard let first else { return nil }
        self.first = nil
        if first.resumedFrom == 0 { contributors = [] }
        contributors.insert(source.url)
        switch first.outcome {
        case .success(let result): (attempts, received) = (result.attempts, result.bytesReceived)
        case .failure(let error): (attempts, received) = (error.attempts, error.bytesReceived)
        }
        takeAnnounced(in: first.head)
        return try first.outcome.get()
    }

    private func transfer(from source: Mirror) async throws(TransferError) -> TransferResult {
        let isAlone = sources.count == 1
        var addressed = request.addressed(to: source.url, isAlone: isAlone)
        // A mirror that a response announced does not say itself which body is the right one.
        sink.digest = announced.contains(source.url) && transport.digest == nil ? announcedDigest : nil
        try await findBasis(at: source, addressed)
        let further = mayBeDivided ? FurtherMirrors(besides: source, of: sources(besides: source), transport) : nil
        addressed.furtherSources = further?.sources(of: request)
        let clock = ContinuousClock()
        let start = clock.now
        transport.rates.begin(source.url)
        let beginnings = sink.beginnings
        defer {
            if sink.beginnings != beginnings { contributors = [] }
            contributors.insert(source.url)
            further.map { take($0) }
        }
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.base.run(addressed, into: sink, events: events)
        } catch {
            attempts += error.attempts
            received += error.bytesReceived
            let isFault = error.code != .refusedBySink && error.code != .cancelled
            note(source, error.bytesReceived - (further?.bytes ?? 0), clock.now - start, failed: isFault)
            takeAnnounced(in: sink.head)
            throw error
        }
        attempts += result.attempts
        received += result.bytesReceived
        let isFault = result.outcome == .status && RetryState.isRetryable(status: result.head.status.code)
        note(source, result.bytesReceived - (further?.bytes ?? 0), clock.now - start, failed: isFault)
        takeAnnounced(in: sink.head)
        // A body from a single source is verified when it is stored.
        if result.outcome == .body, sources.count > 1 { try verify() }
        return result
    }

    private func verify() throws(TransferError) {
        do { try sink.verifyWhole() } catch {
            throw TransferError(.refusedBySink, url: request.url, "the body has another digest", cause: error)
        }
    }

    /// True if several sources may send parts of one body in parallel. Whether they have the same body is checked when they are needed.
    private var mayBeDivided: Bool { proves && !transport.mirrors.isEmpty && transport.integrity.pieces == nil }

    private func sources(besides source: Mirror) -> [Mirror] {
        transport.rates.ordered(
            sources.filter {
                $0.url != source.url && !refused.contains($0.url) && !failed.contains($0.url)
                    && !unjoinable.contains($0.url)
            })
    }

    private func take(_ further: FurtherMirrors) {
        contributors.formUnion(further.contributors)
        let (forGood, lately) = further.aside
        unjoinable.formUnion(forGood)
        failed.formUnion(lately)
    }

    private func note(_ source: Mirror, _ bytes: Int64, _ time: Duration, failed: Bool) {
        transport.rates.end(source.url, bytes: bytes, seconds: time.inSeconds, failed: failed)
    }

    /// Learns by a HEAD request with which validator another source can resume the partial.
    private func findBasis(at source: Mirror, _ addressed: TransferRequest) async throws(TransferError) {
        sink.basis = nil
        guard sources.count > 1, proves, let held = sink.held(),
            !transport.signatures.isSameResource(held.url, source.url)
        else { return }
        var head = addressed
        head.method = .head
        let result: TransferResult
        do throws(TransferError) {
            result = try await transport.base.run(head, into: NoBody())
        } catch {
            if error.code == .cancelled { throw error }
            return
        }
        sink.basis = held.total.flatMap { HeldPartial(held.missing, of: $0, at: result.head) }
    }

    // MARK: Failures

    private func judge(_ error: TransferError, of source: Mirror) async throws(TransferError) {
        guard error.code == .refusedBySink else {
            if error.code == .cancelled || !hasOthers(than: source) && sources.count == 1 { throw completed(error) }
            return putAside(source, error.message, forGood: !error.isRetryable, .failure(error))
        }
        guard let defect = error.cause as? BodyDefect else { throw completed(error) }
        let failure = refusal(defect, of: source)
        if case .digest = defect, contributors.count > 1 {
            // The source of the wrong bytes is not known, so sources are no longer joined.
            joins = false
            failed = []
            last = .failure(failure)
            return
        }
        guard case .piece(let index, let range) = defect else {
            return putAside(source, failure.message, forGood: true, .failure(failure))
        }
        last = .failure(failure)
        transport.tell(.badPiece(url: URLText.withoutUserinfo(source.url), index: index, range))
        badPieces[source.url, default: 0] += 1
        if badPieces[source.url, default: 0] >= Self.mostBadPieces { refused.insert(source.url) }
        if try await repair(index, range, besides: source) { return }
        // No source has sent a right piece.
        refused.insert(source.url)
    }

    private func refusal(_ defect: BodyDefect, of source: Mirror) -> TransferError {
        let error = ImageCacheError(defect, url: URLText.withoutUserinfo(source.url))
        return TransferError(
            .refusedBySink, url: request.url, "\(URLText.withoutUserinfo(source.url)): \(error.message)", cause: error)
    }

    /// Fetches a piece again: from the other sources first, then from the source of the bad one.
    private func repair(_ index: Int, _ range: Range<Int64>, besides bad: Mirror) async throws(TransferError) -> Bool {
        guard let total = sink.total else { return false }
        let others = transport.rates.ordered(sources.filter { $0.url != bad.url && !refused.contains($0.url) })
        for source in others + [bad] {
            var piece = request.addressed(to: source.url, isAlone: true)
            piece.conditions = nil
            piece.fields[.range] = "bytes=" + ByteRange(range).text
            if !piece.options.forwardsErrorResponses {
                piece.options.userAgent = piece.options.userAgent ?? "imgcache"
                piece.options.forwardsErrorResponses = true
            }
            let target = PieceSink(range, of: total)
            do throws(TransferError) {
                let result = try await transport.base.run(piece, into: target)
                received += result.bytesReceived
            } catch {
                received += error.bytesReceived
                if error.code == .cancelled { throw completed(error) }
                continue
            }
            guard target.isWhole, let outcome = try? sink.replace(piece: index, range, by: target.bytes) else {
                continue
            }
            switch outcome {
            case .unsuitable: continue
            // The partial was wrong and has been dropped, so all sources start again, without blame.
            case .heldIsWrong: return true
            case .done:
                transport.tell(.repairedPiece(url: URLText.withoutUserinfo(source.url), index: index))
                return true
            }
        }
        return false
    }

    // MARK: Ends

    private func finished(_ result: TransferResult) -> TransferResult {
        var result = result
        result.bytesReceived = received
        result.attempts = attempts
        result.resumedFrom = min(result.resumedFrom, heldAtFirst)
        return result
    }

    private func completed(_ error: TransferError) -> TransferError {
        var error = error
        error.bytesReceived = received
        error.attempts = attempts
        return error
    }
}

extension Result<TransferResult, TransferError> {
    /// True if another round may have another outcome.
    fileprivate var mayPass: Bool {
        switch self {
        case .success(let result): RetryState.isRetryable(status: result.head.status.code)
        case .failure: true
        }
    }
}
