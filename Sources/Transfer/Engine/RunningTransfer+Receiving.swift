import CLibcurl
import FoundationEssentials
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
        // After a final head was judged, only trailers can come.
        guard action == nil else { return .taken }
        if RawHead.isStatusLine(line) {
            headBegan = .now
            if collector.isComplete, collector.isRedirect { noteHop() }
        }
        let progress = collector.append(line)
        if collector.isStatusLine, (300..<400).contains(collector.status), !collector.isRedirect {
            // libcurl would follow any 3xx with a Location, a 304 too.
            handle?.set(CURLOPT_FOLLOWLOCATION, false)
        }
        switch progress {
        case .more: return .taken
        case .interim(let status, let fields):
            if options.passesEveryStatus { events(.interim(.init(code: status), fields)) }
            return .taken
        case .violation(let text):
            failure = error(.protocolViolation, text)
            return .stop
        case .complete(let status):
            // libcurl gives trailers through the same callback; those of a redirect may look like a head of their own.
            guard handle?.responseCode == status else {
                failure = error(.protocolViolation, "a trailer that looks like a response head")
                return .stop
            }
            lastActivity = .now
            addressRefusal = nil
            headTime = mailbox.configuration.now()
            if options.reportsHeads { events(.responseHead(MaskedHead.lines(collector.bytes))) }
            if (200..<300).contains(status) || passesWithoutBody(status) { return judgeHead() ? .taken : .stop }
            // A redirect, or a challenge to authenticate: another head may follow. Whoever sends a body has the last
            // word, else the attempt's end.
            if collector.isRedirect {
                pendingURL = handle?.effectiveURL(otherThan: prepared.url) ?? prepared.url
                // It was this request's.
                _ = handle?.set(CURLOPT_REQUEST_TARGET, nil)
            }
            return .taken
        }
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
            bytesReceived += count
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
        var (version, fields) = collector.parsed()
        // Chunks win over a length, which must not be passed on (RFC 9112 section 6.3): libcurl has read it so, too.
        if version.hasPrefix("HTTP/1"), fields.contains(.transferEncoding) { fields[.contentLength] = nil }
        let head = ResponseHead(
            status: .init(code: collector.status), fields: fields, version: version,
            finalURL: handle?.effectiveURL(otherThan: prepared.url) ?? prepared.url, redirects: hops,
            requestTime: requestTime,
            responseTime: headTime)
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

    /// Another head begins, so the one before it was a redirect's.
    private func noteHop() {
        hops.append(
            RedirectHop(
                url: pendingURL, status: .init(code: collector.status), fields: collector.parsed().fields))
    }
}

extension DeclaredLength {
    fileprivate func isAtMost(_ limit: Int64) -> Bool {
        if case .bytes(let length) = self { length <= limit } else { true }
    }
}
