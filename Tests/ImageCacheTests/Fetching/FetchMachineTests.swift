import FoundationEssentials
import HTTPCaching
import HTTPTypes
import TestSupport
import Testing
import Transfer

@testable import DiskStore
@testable import ImageCache

@Suite("The steps of a fetch")
struct FetchMachineTests {
    typealias Phase = FetchMachine.Phase

    /// A row of the table of fetches: the request and its options.
    struct Kind: Sendable {
        var name: String
        var mode = FetchMachine.Mode.shared
        var consumer = Fetcher.Consumer.file
        var usesRemote = false
        var change: @Sendable (inout FileRequest) -> Void = { _ in }

        func machine() throws -> FetchMachine {
            var request = FileRequest(StoredFixture.url)
            change(&request)
            let resolved = try ResolvedRequest(request, by: CacheRules())
            return FetchMachine(resolved, for: consumer, mode, by: CacheRules(), usesRemote: usesRemote)
        }
    }

    /// A row of a table: after the events, this event leads to this action.
    struct Row: Sendable, CustomTestStringConvertible {
        let kind: Kind
        let before: [FetchEvent]
        let event: FetchEvent
        let action: String
        let phase: Phase

        init(_ kind: Kind, _ before: [FetchEvent], _ event: FetchEvent, _ action: String, _ phase: Phase) {
            self.kind = kind
            self.before = before
            self.event = event
            self.action = action
            self.phase = phase
        }

        var testDescription: String { "\(kind.name), \(phase): \(event.text) -> \(action)" }
    }

    // MARK: Kinds of fetches

    static let file = Kind(name: "file")
    static let remote = Kind(name: "file in a fleet", usesRemote: true)
    static let kept = Kind(name: "file that must be stored") { $0.noStoreBehavior = .fail }
    static let response = Kind(name: "response", consumer: .response(.atMost(.seconds(1)), publishing: nil))
    static let alone = Kind(name: "response alone", consumer: .response(.none, publishing: nil))
    static let revalidation = Kind(name: "revalidation", mode: .revalidation)
    static let write = Kind(name: "write", mode: .write) { $0.method = .post }
    static let passthrough = Kind(name: "passthrough", mode: .passthrough, consumer: .passthrough)
    static let reload = Kind(name: "reload") { $0.policy = .reloadRevalidatingCacheData }

    // MARK: Events

    static let now = StoredFixture.time(30)
    static let later = StoredFixture.time(1000)
    static let miss = FetchEvent.lookedUp(.miss(ConditionalRequest(CacheForward(reason: .uriMiss))))
    static let hit = FetchEvent.lookedUp(.hit())
    static let altered = FetchEvent.failed(
        ImageCacheError(StoreError(.altered, "altered")))
    static let joinedWrongly = FetchEvent.joinedWrongly(ImageCacheError(.wrongBytes, message: "another digest"))
    static let broken = FetchEvent.failed(ImageCacheError(.store(.io), message: "broken"))
    static let unreachable = FetchEvent.originFailed(TransferError(.connect, url: StoredFixture.url, "refused"))

    static func status(_ code: Int, at now: Date = now) -> FetchEvent {
        .errorStatus(.init(code: code), ImageCacheError(.status(code), message: "\(code)"), at: now)
    }

    static func failed(_ code: TransferError.Code) -> FetchEvent {
        .originFailed(TransferError(code, url: StoredFixture.url, code.description))
    }

    /// A look-up that found a response, as the rules decide about it at second 30.
    static func found(_ stored: StoredFixture, _ policy: CachePolicy = .useProtocolCachePolicy) -> FetchEvent {
        let request = CacheRequest(url: StoredFixture.url, fields: [.accept: "image/webp"], policy: policy)
        guard let candidate = try? stored.candidate() else { return .cancelled }
        let decision = Lookup(request, [candidate], allowing: .usable).decision(by: CacheRules(), at: now)
        return decision.served == nil ? .lookedUp(.miss(decision.conditionalRequest(about: [candidate]))) : hit
    }

    /// The way to the request to the origin.
    static let asked: [FetchEvent] = [.began, miss, .locked]
    static func asked(about stored: StoredFixture) -> [FetchEvent] { [.began, found(stored), .locked] }
    static let waiting: [FetchEvent] = [.began, miss, .busy]
    static let storing: [FetchEvent] = asked + [.bodyEnded()]

    // MARK: Tables

    static let lookUps: [Row] = [
        Row(file, [], .began, "look up first", .lookingUp),
        Row(response, [], .began, "look up first", .lookingUp),
        Row(write, [], .began, "look up first", .lookingUp),
        Row(revalidation, [], .began, "lock", .locking),
        Row(passthrough, [], .began, "ask origin first", .askingOrigin),
        Row(file, [.began], hit, "serve", .ended),
        Row(file, [.began], .lookedUp(.hit(needsRevalidation: true)), "serve and revalidate", .ended),
        Row(file, [.began], .lookedUp(.notCached), "fail notCached", .ended),
        Row(file, [.began], broken, "fail store io", .ended),
        Row(file, [.began], .cancelled, "fail cancelled", .ended),
        Row(file, [.began], miss, "lock", .locking),
        Row(file, [.began], found(.stale), "lock", .locking),
        Row(file, [.began], found(.fresh), "serve", .ended),
        Row(file, [.began], found(.otherVariant), "lock", .locking),
        Row(write, [.began], miss, "ask origin first", .askingOrigin),
        Row(write, [.began], .lookedUp(.notCached), "fail notCached", .ended),
        Row(revalidation, [.began, .locked], found(.stale), "ask origin first", .askingOrigin),
        Row(revalidation, [.began, .locked], found(.fresh), "serve", .ended),
        Row(revalidation, [.began, .locked], .lookedUp(.notCached), "fail notCached", .ended),
    ]

    static let turns: [Row] = [
        Row(file, [.began, miss], .locked, "ask origin first", .askingOrigin),
        Row(file, [.began, miss], .lockedAfterChange, "look up afterWait", .lookingUpAfterWait),
        Row(file, [.began, miss, .lockedAfterChange], hit, "serve", .ended),
        Row(file, [.began, miss, .lockedAfterChange], miss, "ask origin first", .askingOrigin),
        Row(file, [.began, miss], .busy, "wait untilStalled", .waiting),
        Row(file, [.began, miss], broken, "fail store io", .ended),
        Row(file, [.began, miss], .cancelled, "fail cancelled", .ended),
        Row(response, [.began, miss], .locked, "ask origin first", .askingOrigin),
        Row(response, [.began, miss], .busy, "follow", .following),
        Row(alone, [.began, miss], .busy, "ask origin first", .askingOrigin),
        Row(revalidation, [.began], .locked, "look up first", .lookingUp),
        Row(revalidation, [.began], .lockedAfterChange, "look up first", .lookingUp),
        Row(revalidation, [.began], .busy, "fail cancelled", .ended),
        Row(response, waiting, .followed, "serve", .ended),
        Row(response, waiting, .notFollowable, "wait atMost(1.0 seconds)", .waiting),
        Row(response, waiting, broken, "fail store io", .ended),
        Row(response, waiting, .cancelled, "fail cancelled", .ended),
        Row(file, waiting, .locked, "look up afterWait", .lookingUpAfterWait),
        Row(file, waiting, .busy, "look up afterWait", .lookingUpAfterWait),
        Row(file, waiting, .cancelled, "fail cancelled", .ended),
        Row(file, waiting, broken, "fail store io", .ended),
        Row(response, waiting + [.notFollowable], .busy, "look up afterWait", .lookingUpAfterWait),
        Row(file, waiting + [.locked], hit, "serve", .ended),
        Row(file, waiting + [.locked], miss, "ask origin first", .askingOrigin),
        Row(file, waiting + [.busy], miss, "ask origin first", .askingOrigin),
        Row(file, waiting + [.locked], found(.stale), "ask origin first", .askingOrigin),
        Row(file, waiting + [.locked], .lookedUp(.notCached), "fail notCached", .ended),
        Row(
            file, waiting + [.busy], .lookedUp(.hit(needsRevalidation: true)), "serve and revalidate", .ended),
    ]

    static let fleets: [Row] = [
        Row(remote, [.began, miss], .locked, "ask remote", .askingRemote),
        Row(remote, [.began, miss], .busy, "wait untilStalled", .waiting),
        Row(remote, [.began, found(.stale)], .locked, "ask origin first", .askingOrigin),
        Row(remote, waiting + [.locked], miss, "ask remote", .askingRemote),
        Row(remote, waiting + [.busy], miss, "ask remote", .askingRemote),
        Row(remote, waiting + [.busy], found(.stale), "ask origin first", .askingOrigin),
        Row(remote, asked, .remoteMissed, "ask origin first", .askingOrigin),
        Row(remote, asked, .remoteStored, "look up remote", .lookingUpRemote),
        Row(remote, asked, .cancelled, "fail cancelled", .ended),
        Row(remote, asked, broken, "fail store io", .ended),
        Row(remote, asked + [.remoteStored], hit, "serve", .ended),
        Row(remote, asked + [.remoteStored], found(.stale), "ask origin first", .askingOrigin),
        Row(remote, asked + [.remoteStored], miss, "ask origin first", .askingOrigin),
        Row(remote, asked + [.remoteStored], .lookedUp(.notCached), "fail notCached", .ended),
        Row(remote, asked + [.remoteStored, found(.stale)], unreachable, "open stale 0", .openingStale),
    ]

    static let responses: [Row] = [
        Row(file, asked, .bodyEnded(), "store", .storing),
        Row(file, asked, .bodyEnded(isOutdated: true), "store", .storing),
        Row(response, asked, .bodyEnded(isOutdated: true), "store", .storing),
        Row(file, asked, .notModified, "confirm", .confirming),
        Row(file, asked, .announcedStoredBody, "compare stored", .comparing),
        Row(response, asked, .partialDropped, "ask origin withoutPartial", .askingOrigin),
        Row(response, asked + [.partialDropped], .bodyEnded(), "store", .storing),
        Row(file, asked, .passedThrough, "fail notStorable", .ended),
        Row(response, asked, .passedThrough, "fail notStorable", .ended),
        Row(passthrough, [.began], .passedThrough, "fail notStorable", .ended),
        Row(passthrough, [.began], .bodyEnded(), "store", .storing),
        Row(passthrough, [.began], unreachable, "fail unreachable", .ended),
        Row(passthrough, [.began], status(503), "fail status 503", .ended),
        Row(file, asked, .cancelled, "fail cancelled", .ended),
        Row(file, asked, broken, "fail store io", .ended),
        Row(file, asked + [.announcedStoredBody], .compared(isEqual: true), "serve", .ended),
        Row(
            file, asked + [.announcedStoredBody], .compared(isEqual: false), "ask origin withoutStoredBodies",
            .askingOrigin),
        Row(file, asked + [.announcedStoredBody], broken, "fail store io", .ended),
        Row(file, asked(about: .stale) + [.notModified], .confirmed, "serve", .ended),
        Row(file, asked(about: .stale) + [.notModified], .evicted, "ask origin unconditional", .askingOrigin),
        Row(file, asked(about: .stale) + [.notModified], broken, "fail store io", .ended),
        Row(
            file, asked(about: .stale) + [.notModified, .evicted], unreachable, "fail unreachable", .ended),
        Row(file, storing, .committed, "serve", .ended),
        Row(file, storing, .outdated, "serve", .ended),
        Row(file, storing, broken, "fail store io", .ended),
        Row(file, storing, .cancelled, "fail cancelled", .ended),
        Row(kept, storing, .committed, "serve", .ended),
        Row(kept, storing, .outdated, "look up later", .lookingUpLater),
        Row(kept, storing + [.outdated], hit, "serve", .ended),
        Row(kept, storing + [.outdated], .lookedUp(.notCached), "fail notStorable", .ended),
        Row(kept, storing + [.outdated], miss, "fail notStorable", .ended),
        Row(kept, asked, .bodyEnded(isOutdated: true), "renew", .renewing),
        Row(kept, asked + [.bodyEnded(isOutdated: true)], .bodyEnded(), "store", .storing),
        Row(
            kept, asked + [.bodyEnded(isOutdated: true)], .bodyEnded(isOutdated: true), "renew", .renewing),
        Row(
            kept, asked + [FetchEvent](repeating: .bodyEnded(isOutdated: true), count: 3),
            .bodyEnded(isOutdated: true), "store", .storing),
        Row(kept, asked + [.bodyEnded(isOutdated: true)], broken, "fail store io", .ended),
        Row(kept, asked + [.bodyEnded(isOutdated: true)], altered, "ask origin repair", .askingOrigin),
        Row(file, storing, altered, "ask origin repair", .askingOrigin),
        Row(file, storing + [altered, .bodyEnded()], altered, "ask origin repair", .askingOrigin),
        Row(
            file, storing + [altered, .bodyEnded(), altered, .bodyEnded(), altered, .bodyEnded()], altered,
            "fail wrongBytes", .ended),
        Row(response, storing, altered, "fail wrongBytes", .ended),
        Row(file, storing, joinedWrongly, "ask origin fromStart", .askingOrigin),
        Row(file, storing + [joinedWrongly, .bodyEnded()], joinedWrongly, "fail wrongBytes", .ended),
        Row(file, storing + [joinedWrongly, .bodyEnded()], altered, "ask origin repair", .askingOrigin),
        Row(file, storing + [joinedWrongly], unreachable, "fail unreachable", .ended),
        Row(response, storing, joinedWrongly, "fail wrongBytes", .ended),
        Row(write, [.began, miss, .bodyEnded()], altered, "fail wrongBytes", .ended),
    ]

    static let failures: [Row] = [
        Row(file, asked, unreachable, "fail unreachable", .ended),
        Row(file, asked, status(404), "fail status 404", .ended),
        Row(file, asked, status(503), "fail status 503", .ended),
        Row(file, asked(about: .stale), unreachable, "open stale 0", .openingStale),
        Row(file, asked(about: .staleWithoutValidator), unreachable, "open stale 0", .openingStale),
        Row(file, asked(about: .staleIfError), unreachable, "open stale 0", .openingStale),
        Row(file, asked(about: .mustRevalidate), unreachable, "read pin", .readingPin),
        Row(file, asked(about: .otherVariant), unreachable, "read pin", .readingPin),
        Row(file, asked(about: .stale), failed(.cancelled), "fail cancelled", .ended),
        Row(file, asked(about: .stale), failed(.refusedBySink), "fail store io", .ended),
        Row(file, asked(about: .stale), failed(.addressRefused), "fail addressRefused", .ended),
        Row(response, asked(about: .stale), failed(.addressRefused), "open stale 0", .openingStale),
        Row(file, asked(about: .stale), failed(.cut), "open stale 0", .openingStale),
        Row(file, asked(about: .stale), failed(.protocolViolation), "open stale 0", .openingStale),
        Row(file, asked(about: .stale), status(503), "fail status 503", .ended),
        Row(file, asked(about: .stale), status(404), "fail status 404", .ended),
        Row(file, asked(about: .staleIfError), status(503), "open stale 0", .openingStale),
        Row(file, asked(about: .staleIfError), status(500), "open stale 0", .openingStale),
        Row(file, asked(about: .staleIfError), status(404), "fail status 404", .ended),
        Row(file, asked(about: .staleIfError), status(503, at: later), "fail status 503", .ended),
        Row(file, asked(about: .staleWhileRevalidating), status(503), "open stale 0", .openingStale),
        Row(file, asked(about: .staleWhileRevalidating), status(404), "open stale 0", .openingStale),
        Row(
            file, asked(about: .staleWhileRevalidating), status(503, at: later), "fail status 503", .ended),
        Row(file, asked(about: .mustRevalidate), status(503), "fail status 503", .ended),
        Row(
            reload, [.began, found(.stale, .reloadRevalidatingCacheData), .locked], unreachable, "read pin", .readingPin
        ),
        Row(
            reload, [.began, found(.staleIfError, .reloadRevalidatingCacheData), .locked], status(503),
            "fail status 503", .ended),
        Row(
            file, asked(about: .mustRevalidate) + [unreachable], .pin(maxStale: nil, at: now), "fail unreachable",
            .ended),
        Row(
            file, asked(about: .mustRevalidate) + [unreachable], .pin(maxStale: 20, at: now), "open stale 0",
            .openingStale),
        Row(
            file, asked(about: .mustRevalidate) + [unreachable], .pin(maxStale: 19, at: now), "fail unreachable",
            .ended),
        Row(
            file, asked(about: .otherVariant) + [unreachable], .pin(maxStale: 1000, at: now), "fail unreachable",
            .ended),
        Row(file, asked(about: .stale) + [unreachable], .opened, "serve", .ended),
        Row(file, asked(about: .stale) + [unreachable], .evicted, "fail unreachable", .ended),
        Row(file, asked(about: .stale) + [unreachable], broken, "fail store io", .ended),
        Row(file, asked(about: .stale) + [unreachable], .cancelled, "fail cancelled", .ended),
        Row(file, asked(about: .staleIfError) + [status(500)], .evicted, "fail status 500", .ended),
    ]

    @Test(arguments: lookUps + turns + fleets + responses + failures)
    func `an event leads to the next action`(_ row: Row) throws {
        var machine = try row.kind.machine()
        for event in row.before { #expect(machine.received(event) != nil) }
        #expect(machine.received(row.event).map(\.text) == row.action)
        #expect(machine.phase == row.phase)
    }

    // MARK: All events in all phases

    /// A way to each phase, and the events that belong to it besides failures and cancellation.
    static let phases: [(Phase, Kind, [FetchEvent], belonging: Set<String>)] = [
        (.ready, remote, [], ["began"]),
        (.lookingUp, remote, [.began], ["miss", "hit", "notCached"]),
        (.locking, remote, [.began, miss], ["locked", "lockedAfterChange", "busy"]),
        (.following, response, waiting, ["followed", "notFollowable"]),
        (.waiting, remote, waiting, ["locked", "busy"]),
        (.lookingUpAfterWait, remote, waiting + [.locked], ["miss", "hit", "notCached"]),
        (.askingRemote, remote, asked, ["remoteStored", "remoteMissed"]),
        (.lookingUpRemote, remote, asked + [.remoteStored], ["miss", "hit", "notCached"]),
        (
            .askingOrigin, file, asked,
            [
                "passedThrough", "announcedStoredBody", "partialDropped", "notModified", "status", "originFailed",
                "bodyEnded",
            ]
        ),
        (.comparing, file, asked + [.announcedStoredBody], ["compared"]),
        (.confirming, file, asked + [.notModified], ["confirmed", "evicted"]),
        (.renewing, kept, asked + [.bodyEnded(isOutdated: true)], ["bodyEnded"]),
        (.storing, file, storing, ["committed", "outdated", "joinedWrongly"]),
        (.lookingUpLater, kept, storing + [.outdated], ["miss", "hit", "notCached"]),
        (.readingPin, file, asked(about: .mustRevalidate) + [unreachable], ["pin"]),
        (.openingStale, file, asked(about: .stale) + [unreachable], ["opened", "evicted"]),
        (.ended, file, [.began, hit], []),
    ]

    static let allEvents: [FetchEvent] = [
        .began, miss, hit, .lookedUp(.notCached), .locked, .lockedAfterChange, .busy, .followed, .notFollowable,
        .remoteStored, .remoteMissed, .passedThrough, .announcedStoredBody, .partialDropped, .compared(isEqual: true),
        .notModified, status(503), unreachable, .pin(maxStale: 5, at: now), .bodyEnded(), .committed, .outdated,
        .confirmed, .opened, .evicted, joinedWrongly, broken, .cancelled,
    ]

    @Test(arguments: Phase.allCases, allEvents)
    func `an event outside its phases changes nothing, and a failure or cancellation ends every phase`(
        _ phase: Phase, _ event: FetchEvent
    ) throws {
        let (_, kind, way, belonging) = try #require(Self.phases.first { $0.0 == phase })
        var machine = try kind.machine()
        for event in way { _ = machine.received(event) }
        try #require(machine.phase == phase)
        let action = machine.received(event)
        if phase == .ended {
            #expect(action == nil)
        } else if ["failed", "cancelled"].contains(event.name) {
            #expect(action.map(\.text) == (event.name == "failed" ? "fail store io" : "fail cancelled"))
        } else {
            #expect((action != nil) == belonging.contains(event.name))
            if action == nil { #expect(machine.phase == phase) }
        }
    }

    // MARK: Random events

    static let kinds = [file, remote, kept, response, alone, revalidation, write, passthrough, reload]

    /// All events, with responses that the rules treat differently.
    static let randomEvents: [FetchEvent] =
        allEvents + StoredFixture.allCases.map { found($0) } + [
            .lookedUp(.hit(needsRevalidation: true)), .bodyEnded(isOutdated: true), .compared(isEqual: false), altered,
            status(404), status(500, at: later), .pin(maxStale: nil, at: now), .pin(maxStale: 1000, at: now),
            failed(.addressRefused), failed(.cut),
        ]

    @Test(arguments: 0..<40)
    func `a fetch ends once, asks the origin in its turn, and serves stale only what the rules allow`(
        _ seed: Int
    ) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<100 {
            let kind = Self.kinds[Int.random(in: 0..<Self.kinds.count, using: &random)]
            try check(kind, using: &random)
        }
    }

    private func check(_ kind: Kind, using random: inout SeededGenerator) throws {
        var machine = try kind.machine()
        var (ends, hadTurn, pinned) = (0, false, Int64?.none)
        for _ in 0..<400 {
            let event = Self.randomEvents[Int.random(in: 0..<Self.randomEvents.count, using: &random)]
            let before = machine.phase
            guard let action = machine.received(event) else {
                #expect(machine.phase == before)
                continue
            }
            #expect(ends == 0, "an action after the end")
            if before == .locking || before == .waiting { hadTurn = true }
            if case .pin(let maxStale, _) = event { pinned = maxStale }
            switch action {
            case .end(let end):
                ends += 1
                if case .cancelled = event, case .fail(let error) = end { #expect(error.code == .cancelled) }
            case .askOrigin: #expect(hadTurn || kind.mode == .write || kind.mode == .passthrough)
            case .openStale(let index):
                let candidate = machine.conditional.candidates[index]
                #expect(try Self.mayBeServedStale(candidate, kind, after: event, pinned))
            default: break
            }
            if case .cancelled = event { #expect(machine.phase == .ended) }
        }
        #expect(ends <= 1 && (ends == 1) == (machine.phase == .ended))
    }

    /// The rules' own answer about a candidate after a failure.
    private static func mayBeServedStale(
        _ candidate: StoredCandidate, _ kind: Kind, after event: FetchEvent, _ pinned: Int64?
    ) throws -> Bool {
        if case .pin = event { return pinned != nil }
        var request = FileRequest(StoredFixture.url)
        kind.change(&request)
        let resolved = try ResolvedRequest(request, by: CacheRules())
        let response = candidate.record.response
        if case .errorStatus(let status, _, let time) = event {
            let isInWindow = response.fields[.cacheControl]?.contains("stale-while-revalidate") == true && time == now
            return isInWindow
                || CacheRules().mayServeStale(
                    response, after: .status(status), for: resolved.cacheRequest, now: time)
        }
        return response.fields[.cacheControl]?.contains("must-revalidate") != true
    }
}

// MARK: Texts of the tables

extension FetchEvent {
    fileprivate var name: String {
        switch self {
        case .lookedUp(.hit): "hit"
        case .lookedUp(.miss): "miss"
        case .lookedUp(.notCached): "notCached"
        case .errorStatus: "status"
        default: String("\(self)".prefix { $0 != "(" })
        }
    }

    fileprivate var text: String {
        switch self {
        case .errorStatus(let status, _, _): "status \(status.code)"
        case .originFailed(let error): "failed \(error.code)"
        case .lookedUp(.miss(let conditional)): "miss (\(conditional.candidates.count) stored)"
        case .pin(let maxStale, _): "pin \(maxStale.map { "\($0) s" } ?? "none")"
        case .failed(let error): "failed \(error.message)"
        default: "\(self)"
        }
    }
}

extension FetchAction {
    fileprivate var text: String {
        switch self {
        case .lookUp(let purpose): "look up \(purpose)"
        case .lock: "lock"
        case .follow: "follow"
        case .wait(let waiting): "wait \(waiting)"
        case .askRemote: "ask remote"
        case .askOrigin(let attempt): "ask origin \(attempt)"
        case .compareStored: "compare stored"
        case .confirm: "confirm"
        case .renew: "renew"
        case .store: "store"
        case .readPin: "read pin"
        case .openStale(let index): "open stale \(index)"
        case .end(.serve): "serve"
        case .end(.serveAndRevalidate): "serve and revalidate"
        case .end(.fail(let error)): "fail \(error.code.text)"
        }
    }
}

extension ImageCacheError.Code {
    fileprivate var text: String {
        if let statusCode { return "status \(statusCode)" }
        if let storeReason { return "store \(storeReason)" }
        return "\(self)"
    }
}
