import CLibcurl
import FoundationEssentials
import HTTPSemantics
import HTTPTypes
import Synchronization

extension RunningTransfer {
    /// What a callback answers to libcurl.
    enum Reception {
        case taken
        case pause
        case stop
    }

    /// Bodies of error statuses are read to their end when they are this short, so that the connection can be used
    /// again; a longer one costs the connection.
    private static var discardLimit: Int64 { 64 * 1024 }

    func receiveHead(line: UnsafeRawBufferPointer) -> Reception {
        // After a final head was judged, or a redirect's, only trailers can come.
        guard action == nil, nextHop == nil else { return .taken }
        if RawHead.isStatusLine(line) { headBegan = .now }
        switch collector.append(line) {
        case .more: return .taken
        case .interim(let status, let fields):
            if options.passesEveryStatus { events(.interim(.init(code: status), fields.withoutFraming)) }
            return .taken
        case .violation(let text):
            failure = error(.protocolViolation, text)
            return .stop
        case .complete(let status): return receiveHead(status: status)
        }
    }

    private func receiveHead(status: Int) -> Reception {
        // libcurl gives trailers through the same callback; those of an error's body may look like a head of their own.
        guard handle?.responseCode == status else {
            failure = error(.protocolViolation, "a trailer that looks like a response head")
            return .stop
        }
        lastActivity = .now
        addressRefusal = nil
        noteResponse()
        headTime = mailbox.configuration.now()
        if options.reportsHeads { events(.responseHead(MaskedHead.lines(collector.bytes))) }
        if collector.isRedirect, options.maxRedirects > 0 {
            let (version, fields) = collector.parsed()
            if let location = fields.redirectLocation { return redirect(status, to: location, version, fields) }
        }
        guard (200..<300).contains(status) || passesWithoutBody(status) else { return .taken }
        return judgeHead() ? .taken : .stop
    }

    /// Notes where the transfer goes on when this response has ended, or why it does not.
    private func redirect(_ status: Int, to location: String, _ version: String, _ fields: HTTPFields) -> Reception {
        hops.append(RedirectHop(url: hop.url.text, status: .init(code: status), fields: fields))
        guard hops.count <= options.maxRedirects else {
            failure = error(.tooManyRedirects, "more than \(options.maxRedirects) redirects")
            return .stop
        }
        do throws(InvalidURL) {
            nextHop = try Hop(after: status, to: location, from: hop, of: prepared)
        } catch {
            failure = self.error(.badRedirect, "redirected to what cannot be fetched: \(error)")
            return .stop
        }
        phase = .discard(0)
        let head = ResponseHead(
            status: .init(code: status), fields: fields, version: version, finalURL: hop.url.text,
            requestTime: requestTime, responseTime: headTime)
        // What is longer costs the connection.
        return head.unknownTransferCoding == nil && head.declaredLength.isAtMost(Self.discardLimit) ? .taken : .stop
    }

    /// Whether the head of such a status can be passed on before its body, because no other can follow it.
    private func passesWithoutBody(_ status: Int) -> Bool {
        options.passesEveryStatus && options.maxRedirects == 0 && status != 304 && prepared.credentials == nil
            && options.netrc == .off
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Reception {
        if case .head = phase, !judgeHead() { return .stop }
        let count = Int64(bytes.count)
        switch phase {
        case .head: return .stop
        case .discard(let soFar):
            if nextHop == nil { bytesReceived += count }
            phase = .discard(soFar + count)
            return soFar + count > Self.discardLimit ? .stop : .taken
        case .body: return receive(bytes, count)
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, _ count: Int64) -> Reception {
        if let expected, received + count > expected {
            bytesReceived += count
            if case .take(.range, _, _) = action {
                action = .restart("206 with more bytes than the range of \(expected)")
            } else {
                failure = error(.protocolViolation, "the body is longer than its head says")
            }
            return .stop
        }
        if let limit = options.maxFileSize, progressBase + received + count > limit {
            bytesReceived += count
            failure = error(.tooLarge, "the body is larger than the limit of \(limit) bytes")
            return .stop
        }
        if let pace, !pace.isOpen(at: .now) {
            isPaused = true
            isPacing = true
            return .pause
        }
        do {
            switch try sink.write(bytes) {
            case .taken: break
            case .pause:
                isPaused = true
                return .pause
            }
        } catch {
            failure = refused(error)
            return .stop
        }
        received += count
        mailbox.counts.bytesReceived.add(Int(count), ordering: .relaxed)
        bytesReceived += count
        hasNews = true
        let now = MonotonicTime.now
        lastActivity = now
        pace?.take(Int(count), now: now)
        report(now: now)
        return .taken
    }

    /// The collected head is the final one: decides what it means, and tells the sink. False: stop.
    func judgeHead() -> Bool {
        let (version, fields) = collector.parsed()
        var head = ResponseHead(
            status: .init(code: collector.status), fields: fields, version: version, finalURL: hop.url.text,
            redirects: hops, requestTime: requestTime, responseTime: headTime)
        if !plan.isHead, let coding = head.unknownTransferCoding {
            action = .fail("the response has the transfer coding '\(coding)', which is not known")
            return false
        }
        head.settleFraming()
        self.head = head
        let action = plan.judge(head)
        self.action = action
        switch action {
        case .take(let placement, let length, let dropping):
            return begin(head, placement, length: length, dropping: dropping)
        case .restart, .fail: return false
        case .alreadyComplete, .proveTotal, .status, .notModified:
            phase = .discard(0)
            return plan.isHead || head.declaredLength.isAtMost(Self.discardLimit)
        }
    }

    private func begin(_ head: ResponseHead, _ placement: BodyPlacement, length: Int64?, dropping: String?) -> Bool {
        switch placement {
        case .whole(let length):
            resumedFrom = 0
            progressBase = 0
            progressTotal = length
        case .range(_, let total), .alreadyComplete(let total):
            progressBase = plan.held?.heldBytes ?? 0
            progressTotal = total
        }
        if let limit = options.maxFileSize, let total = progressTotal, total > limit {
            failure = error(.tooLarge, "the body of \(total) bytes is larger than the limit of \(limit) bytes")
            return false
        }
        if let dropping { noteRestart(dropping) }
        do {
            try sink.begin(head, placement)
        } catch {
            failure = refused(error)
            return false
        }
        isSinkOpen = true
        phase = .body
        expected = length
        if progressBase > 0 {
            mailbox.counts.resumes.add(1, ordering: .relaxed)
            mailbox.counts.bytesResumed.add(Int(progressBase), ordering: .relaxed)
        }
        events(.head(head, resumedFrom: progressBase, total: progressTotal))
        return true
    }
}

extension DeclaredLength {
    fileprivate func isAtMost(_ limit: Int64) -> Bool {
        if case .bytes(let length) = self { length <= limit } else { true }
    }
}
