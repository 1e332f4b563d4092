import CLibcurl
import HTTPSemantics
import Synchronization
import Units

/// The loop of the engine's thread: takes commands, drives libcurl, and starts the transfers that may start.
///
/// Used only on that thread.
final class EngineLoop {
    private let mailbox: Mailbox
    private let multi: UnsafeMutableRawPointer
    private let handles: EasyHandlePool
    private var schedule: TransferSchedule
    /// `nil` if the number of transfers with one host is fixed by the configuration.
    private let concurrencyLimits: HostConcurrency.Limits?
    private var concurrency: [String: HostConcurrency] = [:]
    private var transfers: [UInt64: RunningTransfer] = [:]
    private var active: [UInt64: RunningTransfer] = [:]
    private var timers = Heap<Timer>()
    private var commands: [Mailbox.Command] = []
    private var nextStallCheck = MonotonicTime(nanoseconds: 0)
    /// The time at which received bytes are to be passed to a sink; `nil` if none wait.
    private var nextHandover: MonotonicTime?
    private(set) var now = MonotonicTime.now

    /// The request rates of hosts with recent requests, if there is a limit.
    private var paces: [String: RequestPace] = [:]
    /// The hosts that have got no shared place since these times.
    private var placesWanted: [String: MonotonicTime] = [:]

    /// The time between two attempts to take a place that several processes share.
    private static let placeInterval = Duration.milliseconds(50)

    private struct Timer: Comparable {
        enum Occasion: Equatable {
            /// The end of a wait between attempts.
            case attempt(UInt64)
            /// The end of a pause that limits the rate.
            case wake(UInt64)
            /// Transfers with a host may start again.
            case host(String)
        }

        let due: MonotonicTime
        let occasion: Occasion

        static func < (left: Self, right: Self) -> Bool { left.due < right.due }
    }

    /// `nil` if libcurl cannot allocate memory or descriptors.
    init?(mailbox: Mailbox) {
        guard let multi = clibcurl_multi_init() else { return nil }
        self.mailbox = mailbox
        self.multi = multi
        let configuration = mailbox.configuration
        handles = EasyHandlePool(configuration.connections)
        concurrencyLimits = configuration.concurrencyLimits
        schedule = TransferSchedule(
            TransferSchedule.Limits(
                total: configuration.maxTransfers,
                perHost: concurrencyLimits.map { HostConcurrency($0).limit } ?? configuration.maxPerHost,
                perClient: configuration.maxPerClient ?? .max))
        clibcurl_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        let kept = configuration.maxIdleConnections ?? configuration.maxTransfers
        clibcurl_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, max(kept, 16))
    }

    func run() {
        mailbox.setWaker(.init(multi: multi))
        while takeCommands() {
            var running: Int32 = 0
            clibcurl_multi_perform(multi, &running)
            now = .now
            finishDone()
            fireTimers()
            // Before other transfers are started, so that they get the places of stalled ones.
            checkStalls()
            startReady()
            nextHandover = nil
            for transfer in active.values {
                if let due = transfer.handover.handOver(at: now) { nextHandover = min(nextHandover ?? due, due) }
                if let due = transfer.takeWakingTime() {
                    timers.insert(Timer(due: due, occasion: .wake(transfer.id)))
                }
            }
            clibcurl_multi_poll(multi, pollTimeout())
            now = .now
        }
        mailbox.setWaker(nil)
        for transfer in Array(transfers.values) { cancel(transfer) }
        handles.removeAll()
        clibcurl_multi_cleanup(multi)
        handles.freeShare()
    }

    // MARK: Commands

    private func takeCommands() -> Bool {
        let goesOn = mailbox.collect(into: &commands)
        for command in commands {
            switch command {
            case .start(let submission): start(submission)
            case .cancel(let id): if let transfer = transfers[id] { cancel(transfer) }
            case .prioritize(let id, let priority): prioritize(id, priority)
            case .resume(let id): transfers[id]?.resume(now: now)
            case .pause(let id, let offset): transfers[id]?.pause(at: offset, now: now)
            case .sinkFailed(let id, let cause): if let transfer = transfers[id] { sinkFailed(transfer, cause) }
            case .proceed(let id, let machine, let delay, _):
                if let transfer = transfers[id] { proceed(transfer, machine, after: delay) }
            case .ended(let id): if let transfer = transfers[id] { remove(transfer) }
            }
        }
        commands.removeAll(keepingCapacity: true)
        return goesOn
    }

    private func start(_ submission: Mailbox.Submission) {
        let transfer = RunningTransfer(submission, mailbox: mailbox)
        transfers[submission.id] = transfer
        // A cancellation may overtake the command to start.
        if submission.calls.isCancelled { return cancel(transfer) }
        enqueue(transfer)
    }

    private func cancel(_ transfer: RunningTransfer) {
        if !transfer.isWithTask { requestEnded(transfer, transfer.cancel(now: now)) }
    }

    private func sinkFailed(_ transfer: RunningTransfer, _ cause: any Error) {
        guard !transfer.isWithTask, let next = transfer.sinkFailed(cause, now: now) else { return }
        requestEnded(transfer, next)
    }

    /// Continues with the next attempt of a transfer that its task decided about.
    private func proceed(_ transfer: RunningTransfer, _ machine: TransferStateMachine, after delay: Duration?) {
        transfer.machine = machine
        transfer.isWithTask = false
        if transfer.calls.isCancelled { return cancel(transfer) }
        guard let delay else { return startAttempt(transfer) }
        active[transfer.id] = nil
        leave(transfer)
        timers.insert(Timer(due: now + delay, occasion: .attempt(transfer.id)))
    }

    private func enqueue(_ transfer: RunningTransfer) {
        transfer.isWaiting = true
        if let limit = transfer.connectionLimit { schedule.limit(transfer.host, to: limit) }
        transfer.place = schedule.enqueue(
            transfer.id, host: transfer.host, priority: transfer.priority, client: transfer.client,
            tag: transfer.place)
    }

    private func withdraw(_ transfer: RunningTransfer, isOver: Bool) {
        schedule.withdraw(transfer.id, host: transfer.host, client: transfer.client, isOver: isOver)
    }

    private func prioritize(_ id: UInt64, _ priority: TransferPriority) {
        guard let transfer = transfers[id] else { return }
        transfer.priority = priority
        guard transfer.isWaiting else { return }
        withdraw(transfer, isOver: false)
        enqueue(transfer)
    }

    // MARK: Work

    private func startReady() {
        while let id = schedule.next() {
            guard let transfer = transfers[id] else { continue }
            guard takesPlace(transfer) else {
                schedule.finished(host: transfer.host, client: transfer.client)
                enqueue(transfer)
                pause(transfer.host, until: now + Self.placeInterval)
                continue
            }
            transfer.isWaiting = false
            active[id] = transfer
            startAttempt(transfer)
        }
    }

    /// Takes a place that all processes share. If the host has had none for the connect time-out, the transfer starts without one, because
    /// another process may be stopped.
    private func takesPlace(_ transfer: RunningTransfer) -> Bool {
        guard let limit = mailbox.configuration.sharedHostLimit else { return true }
        transfer.sharedPlace = limit.place(with: transfer.host)
        guard transfer.sharedPlace == nil else {
            placesWanted[transfer.host] = nil
            return true
        }
        let since = placesWanted[transfer.host] ?? now
        placesWanted[transfer.host] = since
        return now - since >= transfer.options.connectTimeout
    }

    /// Releases the transfer's slot and its shared place.
    private func leave(_ transfer: RunningTransfer) {
        transfer.sharedPlace = nil
        schedule.finished(host: transfer.host, client: transfer.client)
    }

    private func pause(_ host: String, until time: MonotonicTime) {
        schedule.pause(host)
        timers.insert(Timer(due: time, occasion: .host(host)))
    }

    /// Counts a request for the request rate of its host.
    private func keepPace(of transfer: RunningTransfer) {
        guard let rate = mailbox.configuration.maxRequestsPerSecond else { return }
        let host = transfer.host
        var pace = paces[host] ?? RequestPace(rate: rate, at: now)
        pace.begin(at: now)
        paces[host] = pace
        pause(host, until: pace.next)
    }

    /// Lets transfers with a host start again, if the host's request rate allows it.
    private func resume(_ host: String) {
        // Another request may have been counted meanwhile. It has a separate timer.
        if let pace = paces[host], pace.next > now { return }
        paces[host] = nil
        schedule.resume(host)
    }

    private func startAttempt(_ transfer: RunningTransfer) {
        keepPace(of: transfer)
        guard let handle = handles.take() else {
            return end(transfer, .failure(transfer.machine.error(.libcurl, "out of memory")))
        }
        if let refusal = transfer.startRequest(on: handle, among: transfers.count, now: now) {
            return end(transfer, .failure(refusal))
        }
        let code = clibcurl_multi_add_handle(multi, handle.easy)
        guard code == CURLM_OK else {
            let reason = String(cString: clibcurl_multi_strerror(code))
            return end(transfer, .failure(transfer.machine.error(.libcurl, "libcurl refuses the transfer: \(reason)")))
        }
        transfer.isAdded = true
    }

    private func finishDone() {
        var code = CURLE_OK
        while let easy = clibcurl_multi_next_done(multi, &code) {
            var context: UnsafeMutableRawPointer?
            clibcurl_getinfo_pointer(easy, CURLINFO_PRIVATE, &context)
            guard let context else { continue }
            let transfer = Unmanaged<RunningTransfer>.fromOpaque(context).takeUnretainedValue()
            adaptConcurrency(to: transfer)
            requestEnded(transfer, transfer.requestEnded(code, now: now))
        }
    }

    /// Adapts the limit of concurrent transfers with a host to a response.
    private func adaptConcurrency(to transfer: RunningTransfer) {
        guard let concurrencyLimits, var sample = transfer.concurrencySample else { return }
        let host = transfer.host
        sample.isContended = schedule.isContended(host)
        if concurrency.count > 1000 { concurrency.removeAll() }
        let limit = concurrency[host, default: HostConcurrency(concurrencyLimits)].ended(sample, at: now)
        schedule.limit(host, to: limit)
    }

    private func requestEnded(_ transfer: RunningTransfer, _ next: RunningTransfer.Next) {
        releaseHandle(of: transfer)
        switch next {
        case .proceed, .stop: end(transfer, .failure(transfer.machine.error(.libcurl, "the request has no end")))
        case .finished(let result): end(transfer, result)
        case .again: startAttempt(transfer)
        case .decide(let action):
            // A transfer with many waiting bytes keeps its slot, so that the number of slots limits the memory.
            let holdsSlot = !transfer.machine.isCallingLast || transfer.calls.isBehind
            if !holdsSlot { remove(transfer) }
            transfer.decide(action, holdsSlot: holdsSlot)
        }
    }

    private func fireTimers() {
        while let timer = timers.first, timer.due <= now {
            _ = timers.removeFirst()
            switch timer.occasion {
            case .attempt(let id): if let transfer = transfers[id] { enqueue(transfer) }
            case .wake(let id): transfers[id]?.wake(now: now)
            case .host(let host): resume(host)
            }
        }
    }

    private func checkStalls() {
        guard !active.isEmpty, now >= nextStallCheck else { return }
        var interval = Duration.seconds(1)
        var stalled: [(transfer: RunningTransfer, stall: TransferError)] = []
        for transfer in active.values {
            interval = min(interval, transfer.options.stallTimeout / 8)
            if let stall = transfer.stall(now: now) { stalled.append((transfer, stall)) }
        }
        nextStallCheck = now + max(interval, .milliseconds(5))
        for (transfer, stall) in stalled { requestEnded(transfer, transfer.requestStalled(stall, now: now)) }
    }

    private func pollTimeout() -> Int32 {
        var due = MonotonicTime(nanoseconds: .max)
        if let timer = timers.first { due = min(due, timer.due) }
        if !active.isEmpty { due = min(due, nextStallCheck) }
        if let nextHandover { due = min(due, nextHandover) }
        guard due.nanoseconds < .max else { return 600_000 }
        return Int32(min(600_000, max(0, (due - now).milliseconds)))
    }

    // MARK: Ends

    private func end(_ transfer: RunningTransfer, _ result: Result<TransferResult, TransferError>) {
        remove(transfer)
        transfer.handover.handOver(before: .finish(result))
    }

    private func remove(_ transfer: RunningTransfer) {
        releaseHandle(of: transfer)
        transfers[transfer.id] = nil
        if active.removeValue(forKey: transfer.id) != nil {
            leave(transfer)
        } else if transfer.isWaiting {
            withdraw(transfer, isOver: true)
        }
    }

    private func releaseHandle(of transfer: RunningTransfer) {
        guard let handle = transfer.releaseHandle() else { return }
        if transfer.isAdded {
            clibcurl_multi_remove_handle(multi, handle.easy)
            transfer.isAdded = false
        }
        handles.putBack(handle)
    }
}
