import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// The steps of one fetch as a state machine: each event leads to the next action.
///
/// A value without I/O, clock or waits. Times are arguments. The caller performs each action and reports its outcome by one of the events that the
/// action names. An event that does not belong to the current phase has no effect and returns `nil`.
///
///     ready → lookingUp → locking ──────────────────────────────────────→ askingRemote → lookingUpRemote
///                             └→ following → waiting → lookingUpAfterWait ↗                    ↓
///                                        ended ← storing, confirming, openingStale ← askingOrigin
struct FetchMachine: Sendable {
    /// The way in which a fetch begins.
    enum Mode: Sendable {
        /// Looks at the store, and waits for another fetch of the same key as long as its consumer allows.
        case shared
        /// Revalidates a response that was served stale, unless another fetch has the key's lock.
        case revalidation
        /// Writes through to the origin (RFC 9111 section 4): it does not wait for other requests, and other requests do not use its response.
        case write
        /// Passes one client's request and its response past the store.
        case passthrough
    }

    enum Phase: Sendable, CaseIterable {
        /// Nothing has happened yet.
        case ready
        /// The store is looked up. Other fetches may have the key.
        case lookingUp
        /// The lock of the key is tried.
        case locking
        /// Another fetch of this process has the key, and its response may answer this request too.
        case following
        /// Another fetch has the key's lock, and this one waits for it within its own time limits.
        case waiting
        /// The wait has ended, or another fetch has ended before the lock was tried. The store is looked up again, first for the response that the
        /// other fetch stored.
        case lookingUpAfterWait
        /// The store that several machines share is looked up.
        case askingRemote
        /// An object of the shared store was copied to the disk, and is looked up like every stored response.
        case lookingUpRemote
        /// The origin has the request.
        case askingOrigin
        /// The response announced the digest of a stored body, which is verified.
        case comparing
        /// The origin confirmed stored responses by a 304, and they get its fields.
        case confirming
        /// The body is complete, but its resource was invalidated meanwhile, and the origin confirms the body.
        case renewing
        /// The body is complete, and is committed to the store.
        case storing
        /// The store did not take the body. Another response may have replaced it, and is looked up.
        case lookingUpLater
        /// The origin failed, and a pin may allow a stored response.
        case readingPin
        /// The origin failed, and a stale response is opened instead.
        case openingStale
        /// The outcome is known.
        case ended
    }

    private let request: ResolvedRequest
    private let consumer: Fetcher.Consumer
    private let mode: Mode
    private let rules: CacheRules
    /// True if the shared store may have a response to the request.
    private let usesRemote: Bool
    private(set) var phase = Phase.ready
    /// The request for the origin that the last look-up led to.
    private(set) var conditional: ConditionalRequest
    /// The error that the fetch fails with unless a stale response can be opened.
    private var failure = ImageCacheError.cancelled
    /// The remaining requests for a body whose blocks were altered on disk.
    private var repairs = Self.attempts
    /// True if a body that is wrong as joined may be requested again, from its start.
    private var mayStartOver = true
    /// The remaining confirmations of a body whose resource was invalidated during the transfer.
    private var renewals = Self.attempts

    private static let attempts = 3

    init(
        _ request: ResolvedRequest, for consumer: Fetcher.Consumer, _ mode: Mode, by rules: CacheRules,
        usesRemote: Bool = false, status: CacheStatus? = nil
    ) {
        self.request = request
        self.consumer = consumer
        self.mode = mode
        self.rules = rules
        self.usesRemote = usesRemote
        conditional = ConditionalRequest(unconditional: status ?? CacheStatus(cache: "imgcache", forward: .method))
    }

    // MARK: Steps

    /// Returns the next action; `nil` if the event does not belong to the current phase.
    mutating func received(_ event: FetchEvent) -> FetchAction? {
        switch (phase, event) {
        case (.ended, _): return nil
        case (_, .cancelled): return end(.fail(.cancelled))

        // The store, and other fetches of the key.
        case (.ready, .began): return begin()
        case (.lookingUp, .lookedUp(.miss(let conditional))):
            self.conditional = conditional
            return mode == .shared ? go(.locking, .lock) : askOrigin(.first)
        case (.locking, .locked) where mode == .shared: return askRemote()
        case (.locking, .lockedAfterChange) where mode == .shared: return go(.lookingUpAfterWait, .lookUp(.afterWait))
        case (.locking, .locked), (.locking, .lockedAfterChange): return go(.lookingUp, .lookUp(.first))
        case (.locking, .busy): return busy()
        case (.following, .followed): return end(.serve)
        case (.following, .notFollowable): return go(.waiting, .wait(consumer.waiting))
        // The lock prevents duplicate work and protects no data: a fetch whose wait has ended continues without it.
        case (.waiting, .locked), (.waiting, .busy): return go(.lookingUpAfterWait, .lookUp(.afterWait))
        case (.lookingUpAfterWait, .lookedUp(.miss(let conditional))):
            self.conditional = conditional
            return askRemote()

        // The store of several machines.
        case (.askingRemote, .remoteStored): return go(.lookingUpRemote, .lookUp(.remote))
        case (.askingRemote, .remoteMissed): return askOrigin(.first)
        case (.lookingUpRemote, .lookedUp(.miss(let conditional))):
            self.conditional = conditional
            return askOrigin(.first)

        case (.lookingUp, .lookedUp(.hit(let needsRevalidation))),
            (.lookingUpAfterWait, .lookedUp(.hit(let needsRevalidation))),
            (.lookingUpRemote, .lookedUp(.hit(let needsRevalidation))):
            return end(needsRevalidation ? .serveAndRevalidate : .serve)
        case (.lookingUp, .lookedUp(.notCached)), (.lookingUpAfterWait, .lookedUp(.notCached)),
            (.lookingUpRemote, .lookedUp(.notCached)):
            return end(.fail(Fetcher.notCached(request)))

        // The origin's response.
        case (.askingOrigin, .passedThrough): return end(.fail(.passedThrough(request)))
        case (.askingOrigin, .announcedStoredBody): return go(.comparing, .compareStored)
        case (.comparing, .compared(let isEqual)): return isEqual ? end(.serve) : askOrigin(.withoutStoredBodies)
        case (.askingOrigin, .partialDropped): return askOrigin(.withoutPartial)
        case (.askingOrigin, .notModified): return go(.confirming, .confirm)
        case (.confirming, .confirmed): return end(.serve)
        case (.confirming, .evicted):
            conditional = ConditionalRequest(CacheForward(reason: .uriMiss))
            return askOrigin(.unconditional)
        case (.askingOrigin, .errorStatus(let status, let error, let now)):
            let candidate = conditional.staleCandidate(for: request.cacheRequest, after: status, by: rules, at: now)
            return openStale(candidate, insteadOf: error)
        case (.askingOrigin, .originFailed(let error)): return originFailed(error)
        case (.readingPin, .pin(let maxStale, let now)):
            return openStale(pinnedCandidate(maxStale, at: now), insteadOf: failure)
        case (.openingStale, .opened): return end(.serve)
        case (.openingStale, .evicted): return end(.fail(failure))

        // A complete body.
        case (.askingOrigin, .bodyEnded(let isOutdated)), (.renewing, .bodyEnded(let isOutdated)):
            guard isOutdated, mustBeStored, request.cacheRequest.isSafe, renewals > 0 else {
                return go(.storing, .store)
            }
            renewals -= 1
            return go(.renewing, .renew)
        case (.storing, .committed): return end(.serve)
        case (.storing, .joinedWrongly(let error)):
            guard mayStartOver, consumer.isFile, request.cacheRequest.isSafe else { return end(.fail(error)) }
            mayStartOver = false
            return askOrigin(.fromStart)
        case (.storing, .outdated): return mustBeStored ? go(.lookingUpLater, .lookUp(.later)) : end(.serve)
        case (.lookingUpLater, .lookedUp(.hit)): return end(.serve)
        case (.lookingUpLater, .lookedUp): return end(.fail(.purged(request)))

        case (.renewing, .failed(let error)), (.storing, .failed(let error)):
            guard error.isOfAlteredPartial, mayRepair else { return end(.fail(error)) }
            repairs -= 1
            return askOrigin(.repair)
        case (_, .failed(let error)): return end(.fail(error))
        default: return nil
        }
    }

    private mutating func begin() -> FetchAction {
        switch mode {
        case .shared, .write: go(.lookingUp, .lookUp(.first))
        case .revalidation: go(.locking, .lock)
        case .passthrough: askOrigin(.first)
        }
    }

    private mutating func busy() -> FetchAction {
        guard mode == .shared else { return end(.fail(.cancelled)) }
        switch consumer {
        case _ where consumer.waiting == .none: return askRemote()
        case .response: return go(.following, .follow)
        case .file, .passthrough: return go(.waiting, .wait(consumer.waiting))
        }
    }

    /// Asks the shared store if this machine has no response of the resource. Asks the origin otherwise.
    private mutating func askRemote() -> FetchAction {
        usesRemote && conditional.candidates.isEmpty ? go(.askingRemote, .askRemote) : askOrigin(.first)
    }

    private mutating func askOrigin(_ attempt: OriginAttempt) -> FetchAction { go(.askingOrigin, .askOrigin(attempt)) }

    private mutating func originFailed(_ error: TransferError) -> FetchAction {
        failure = ImageCacheError(error)
        switch error.code {
        case .refusedBySink, .cancelled: return end(.fail(failure))
        case .addressRefused where consumer.isFile: return end(.fail(failure))
        default: break
        }
        if let fallback = conditional.fallback { return openStale(fallback, insteadOf: failure) }
        return conditional.candidates.isEmpty ? end(.fail(failure)) : go(.readingPin, .readPin)
    }

    /// The stored response that replaces the origin's because its file is pinned.
    private func pinnedCandidate(_ maxStale: Int64?, at now: Date) -> Int? {
        guard let maxStale else { return nil }
        let lookup = Lookup(
            request.cacheRequest, conditional.candidates, allowing: .storedOnly(maxStale: maxStale))
        return lookup.decision(by: rules, at: now).served?.candidate
    }

    private mutating func openStale(_ candidate: Int?, insteadOf error: ImageCacheError) -> FetchAction {
        guard let candidate else { return end(.fail(error)) }
        failure = error
        return go(.openingStale, .openStale(candidate))
    }

    private mutating func go(_ phase: Phase, _ action: FetchAction) -> FetchAction {
        self.phase = phase
        return action
    }

    private mutating func end(_ end: FetchEnd) -> FetchAction { go(.ended, .end(end)) }

    /// True if the request accepts only a stored file.
    private var mustBeStored: Bool { request.request.noStoreBehavior == .fail }

    /// True if the request may be sent again for a file whose blocks were altered on disk.
    private var mayRepair: Bool { consumer.isFile && repairs > 0 && request.cacheRequest.isSafe }
}

/// The outcome of an action of a ``FetchMachine``.
enum FetchEvent: Sendable {
    enum LookedUp: Sendable {
        /// A stored response was opened, and may be served.
        case hit(needsRevalidation: Bool = false)
        case miss(ConditionalRequest)
        /// Only a stored response was acceptable, and there is none.
        case notCached
    }

    case began
    case lookedUp(LookedUp)
    case locked
    /// The lock was free, and the resource has changed since the look-up.
    case lockedAfterChange
    /// Another fetch has the lock. After a wait: it still has the lock.
    case busy
    /// The response of the other fetch answered this request.
    case followed
    case notFollowable
    /// A response from the shared store was copied to the disk.
    case remoteStored
    case remoteMissed
    /// The response went past the store, and has ended.
    case passedThrough
    /// The head announced the digest of a stored body, and nothing more was received.
    case announcedStoredBody
    /// The store had no room for the rest of a partial, which was discarded.
    case partialDropped
    case compared(isEqual: Bool)
    case notModified
    /// An error status, and the error that the fetch reports for it.
    case errorStatus(HTTPResponse.Status, ImageCacheError, at: Date)
    /// The transfer failed before or during the response.
    case originFailed(TransferError)
    /// The age that a pin allows, in seconds since the response went stale; `nil` if the resource is not pinned.
    case pin(maxStale: Int64?, at: Date)
    /// The body is complete.
    ///
    /// - Parameter isOutdated: True if the resource was invalidated since the request.
    case bodyEnded(isOutdated: Bool = false)
    case committed
    /// The body was joined without a validator, and does not have the digest that was to prove it. It was discarded.
    case joinedWrongly(ImageCacheError)
    /// The body is complete and was not stored: its resource was invalidated, a later response has its place, or it must not be stored.
    case outdated
    case confirmed
    case opened
    /// The stored response was removed from the store.
    case evicted
    case failed(ImageCacheError)
    case cancelled
}

/// A step of a fetch, which the caller performs. Its outcome is one of the events that it names, `failed` or `cancelled`.
enum FetchAction: Sendable {
    /// Looks for stored responses: `lookedUp`.
    case lookUp(FetchLookUp)
    /// Tries the key's lock: `locked`, `lockedAfterChange` or `busy`.
    case lock
    /// Answers from the body of another fetch of this process: `followed` or `notFollowable`.
    case follow
    /// Waits for the key's lock: `locked` or `busy`.
    case wait(KeyWaiting)
    /// Copies a response of the shared store to the disk: `remoteStored` or `remoteMissed`.
    case askRemote
    /// Sends ``FetchMachine/conditional``: `bodyEnded`, `notModified`, `errorStatus`, `originFailed`, `passedThrough`, `announcedStoredBody` or
    /// `partialDropped`.
    case askOrigin(OriginAttempt)
    /// Opens the stored body whose digest the response announced: `compared`.
    case compareStored
    /// Updates the stored responses with the fields of the 304: `confirmed` or `evicted`.
    case confirm
    /// Lets the origin confirm the received body in the resource's current generation: `bodyEnded`.
    case renew
    /// Commits the received body: `committed`, `outdated` or `joinedWrongly`.
    case store
    /// Reads the age that a pin allows: `pin`.
    case readPin
    /// Opens the candidate of ``FetchMachine/conditional`` with this index, whatever its age: `opened` or `evicted`.
    case openStale(Int)
    case end(FetchEnd)

    /// True if a cancelled fetch does not begin the action.
    var isSkippedWhenCancelled: Bool {
        switch self {
        case .lock, .follow, .wait, .askRemote, .askOrigin: true
        default: false
        }
    }
}

/// The purpose of a look-up.
enum FetchLookUp: Sendable {
    case first
    /// For the response that the other fetch stored, or the next step.
    case afterWait
    /// For the response from the shared store.
    case remote
    /// For the response that was stored instead of the received body.
    case later
}

/// The reason for a request to the origin.
enum OriginAttempt: Sendable {
    case first
    /// Received blocks were altered on disk, and are requested again.
    case repair
    /// The stored body whose digest the response announced is damaged.
    case withoutStoredBodies
    /// The stored response that the origin confirmed was evicted.
    case unconditional
    /// The store had no room for the rest of a partial, so that the whole body is requested.
    case withoutPartial
    /// The body was joined by its digest alone, and was wrong. The whole body is requested.
    case fromStart
}

/// The outcome of a fetch.
enum FetchEnd: Sendable {
    /// Serves the file that was opened or stored last.
    case serve
    /// Serves the stale file that was opened last, and revalidates it in the background.
    case serveAndRevalidate
    case fail(ImageCacheError)
}

extension ImageCacheError {
    fileprivate static func passedThrough(_ request: ResolvedRequest) -> ImageCacheError {
        ImageCacheError(.notStorable, url: request.url, message: "was passed on, and must not be stored")
    }

    fileprivate static func purged(_ request: ResolvedRequest) -> ImageCacheError {
        ImageCacheError(
            .notStorable, url: request.request.url, message: "was purged while it was downloaded; try again")
    }
}
