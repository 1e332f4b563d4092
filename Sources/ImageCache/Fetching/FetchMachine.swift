import FoundationEssentials
import HTTPCaching
import HTTPTypes
import Transfer

/// The steps of one fetch: an event goes in, the next action comes out.
///
/// A value without I/O, clock and waiting; times are arguments. The caller performs each action and reports its outcome by the
/// event that the action names. An event that does not belong to the present phase changes nothing and yields `nil`.
///
///     ready → lookingUp → locking ──────────────────────────────────────→ askingRemote → lookingUpRemote
///                             └→ following → waiting → lookingUpAfterWait ↗                    ↓
///                                        ended ← storing, confirming, openingStale ← askingOrigin
struct FetchMachine: Sendable {
    /// The way in which a fetch comes to ask the origin.
    enum Turn: Sendable {
        /// It looks at the store, and waits for another fetch of the same key, as its consumer allows.
        case shared
        /// It revalidates what was served stale, unless another fetch has the key.
        case revalidation
        /// It writes through to the origin (RFC 9111 section 4): it waits for no other request, and answers no other.
        case write
        /// It passes one client's request and its response by the store.
        case passthrough
    }

    enum Phase: Sendable, CaseIterable {
        /// Nothing has happened yet.
        case ready
        /// The store is looked at. Other fetches may have the key.
        case lookingUp
        /// The lock of the key is tried.
        case locking
        /// Another fetch of this process has the key, and its response may answer this request too.
        case following
        /// Another fetch has the key's lock, and this one waits for it within its own time limits.
        case waiting
        /// The wait is over. The store is looked at again, first for what the other fetch stored.
        case lookingUpAfterWait
        /// The store that several machines share is looked at.
        case askingRemote
        /// An object of the shared store is on the disk now, and is looked up like every stored response.
        case lookingUpRemote
        /// The origin has the request.
        case askingOrigin
        /// The response announced the digest of a stored body, which is compared with it.
        case comparing
        /// The origin confirmed stored responses by a 304, and they get its fields.
        case confirming
        /// The body is whole, but its resource was invalidated meanwhile, and the origin confirms the body.
        case renewing
        /// The body is whole, and gets its place in the store.
        case storing
        /// The body was refused by the store: another one may have taken its place, and is looked up.
        case lookingUpLater
        /// The origin failed, and a pin may allow a stored response.
        case readingPin
        /// The origin failed, and a stale response is opened in its place.
        case openingStale
        /// The outcome is known.
        case ended
    }

    private let request: ResolvedRequest
    private let consumer: Fetcher.Consumer
    private let turn: Turn
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
    /// The remaining confirmations of a body whose resource was invalidated while it came.
    private var renewals = Self.attempts

    private static let attempts = 3

    init(
        _ request: ResolvedRequest, for consumer: Fetcher.Consumer, _ turn: Turn, by rules: CacheRules,
        usesRemote: Bool = false, status: CacheStatus? = nil
    ) {
        self.request = request
        self.consumer = consumer
        self.turn = turn
        self.rules = rules
        self.usesRemote = usesRemote
        conditional = ConditionalRequest(unconditional: status ?? CacheStatus(cache: "imgcache", forward: .method))
    }

    // MARK: Steps

    /// The next action; `nil` if the event does not belong to the present phase.
    mutating func received(_ event: FetchEvent) -> FetchAction? {
        switch (phase, event) {
        case (.ended, _): return nil
        case (_, .cancelled): return end(.fail(.cancelled))

        // The store, and who else is at the key.
        case (.ready, .began): return begin()
        case (.lookingUp, .lookedUp(.miss(let conditional))):
            self.conditional = conditional
            return turn == .shared ? go(.locking, .lock) : askOrigin(.first)
        case (.locking, .locked): return turn == .shared ? askRemote() : go(.lookingUp, .lookUp(.first))
        case (.locking, .busy): return busy()
        case (.following, .followed): return end(.serve)
        case (.following, .notFollowable): return go(.waiting, .wait(consumer.waiting))
        // The lock saves work and guards nothing: a fetch whose patience has ended continues without.
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

        // A whole body.
        case (.askingOrigin, .bodyEnded(let isOutdated)), (.renewing, .bodyEnded(let isOutdated)):
            guard isOutdated, mustBeStored, request.cacheRequest.isSafe, renewals > 0 else {
                return go(.storing, .store)
            }
            renewals -= 1
            return go(.renewing, .renew)
        case (.storing, .committed): return end(.serve)
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
        switch turn {
        case .shared, .write: go(.lookingUp, .lookUp(.first))
        case .revalidation: go(.locking, .lock)
        case .passthrough: askOrigin(.first)
        }
    }

    private mutating func busy() -> FetchAction {
        guard turn == .shared else { return end(.fail(.cancelled)) }
        switch consumer {
        case _ where consumer.waiting == .none: return askRemote()
        case .response: return go(.following, .follow)
        case .file, .oneClient: return go(.waiting, .wait(consumer.waiting))
        }
    }

    /// Asks the shared store for a resource of which nothing is stored here.
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

    /// The stored response that takes the place of the origin's because its file is pinned.
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

    /// True if only a stored file is of use.
    private var mustBeStored: Bool { request.request.noStoreBehavior == .fail }

    /// True if the request may be sent again for a file whose blocks were altered on disk.
    private var mayRepair: Bool { consumer.isFile && repairs > 0 && request.cacheRequest.isSafe }
}

/// The outcome of an action of a ``FetchMachine``.
enum FetchEvent: Sendable {
    enum LookedUp: Sendable {
        /// A stored response is open that may be served.
        case hit(needsRevalidation: Bool = false)
        case miss(ConditionalRequest)
        /// Only a stored response was acceptable, and there is none.
        case notCached
    }

    case began
    case lookedUp(LookedUp)
    case locked
    /// Another fetch has the lock; after a wait, still.
    case busy
    /// The response of the other fetch answered this request.
    case followed
    case notFollowable
    /// A response from the shared store is on the disk.
    case remoteStored
    case remoteMissed
    /// The response went past the store, and has ended.
    case passedThrough
    /// The head announced the digest of a stored body, and nothing more was received.
    case announcedStoredBody
    case compared(isEqual: Bool)
    case notModified
    /// An error status, with the error that stands for it.
    case errorStatus(HTTPResponse.Status, ImageCacheError, at: Date)
    /// There is no response, or it was cut.
    case originFailed(TransferError)
    /// The age that a pin allows, in seconds since the response went stale; `nil` if the resource is not pinned.
    case pin(maxStale: Int64?, at: Date)
    /// All of the body is there.
    ///
    /// - Parameter isOutdated: True if the resource was invalidated since the request.
    case bodyEnded(isOutdated: Bool = false)
    case committed
    /// The body is whole, and is not stored: its resource was invalidated, a later response is in its place, or it must not be stored.
    case outdated
    case confirmed
    case opened
    /// The stored response is not in the store any more.
    case evicted
    case failed(ImageCacheError)
    case cancelled
}

/// A step of a fetch, which the caller performs. Its outcome is one of the events that it names, `failed` or `cancelled`.
enum FetchAction: Sendable {
    /// Looks for stored responses: `lookedUp`.
    case lookUp(FetchLookUp)
    /// Tries the key's lock: `locked` or `busy`.
    case lock
    /// Answers from the body that another fetch of this process brings: `followed` or `notFollowable`.
    case follow
    /// Waits for the key's lock: `locked` or `busy`.
    case wait(KeyWaiting)
    /// Stores what the shared store has: `remoteStored` or `remoteMissed`.
    case askRemote
    /// Sends ``FetchMachine/conditional``: `bodyEnded`, `notModified`, `errorStatus`, `originFailed`, `passedThrough` or
    /// `announcedStoredBody`.
    case askOrigin(OriginAttempt)
    /// Opens the stored body whose digest the response announced: `compared`.
    case compareStored
    /// Gives the stored responses the fields of the 304: `confirmed` or `evicted`.
    case confirm
    /// Has the origin confirm the received body in the present generation of its resource: `bodyEnded`.
    case renew
    /// Commits the received body: `committed` or `outdated`.
    case store
    /// Reads the age that a pin allows: `pin`.
    case readPin
    /// Opens the candidate of ``FetchMachine/conditional`` with this index, whatever its age: `opened` or `evicted`.
    case openStale(Int)
    case end(FetchEnd)

    /// True if the action is not begun for a fetch that was cancelled.
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
    /// To find what the other fetch stored, or the next step.
    case afterWait
    /// To find what came from the shared store.
    case remote
    /// To find what was stored in place of a received body.
    case later
}

/// The reason for a request to the origin.
enum OriginAttempt: Sendable {
    case first
    /// The received blocks were altered on disk, and those are requested again.
    case repair
    /// The stored body that the response announced turned out to be damaged.
    case withoutStoredBodies
    /// The stored response that the origin confirmed was evicted.
    case unconditional
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
