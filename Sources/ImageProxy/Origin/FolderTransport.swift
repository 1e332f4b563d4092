import CLinux
import ConcurrencyPrimitives
package import FoundationEssentials
import Glibc
import HTTPCaching
import HTTPSemantics
import HTTPTypes
package import Transfer

/// Serves the files below a folder as an HTTP server does: the transport of an origin `file:///FOLDER`.
///
/// * Paths are opened by openat2(2) with `RESOLVE_BENEATH`, so that neither `..` nor a symbolic link leads out of the folder. Files with a name that
///   begins with a dot, what lies below such a folder, folders and special files are 404; a file without permission to read is 403.
/// * Responses give no lifetime (``OriginGate`` does). They have `Content-Length`, `Last-Modified` and an `ETag` of inode, size and time of
///   change, which is weak for a second after a change. Conditions and ranges are evaluated (RFC 9110
///   sections 13 and 14). Methods other than GET and HEAD are 405.
/// * A file that changes while it is read is read again, up to three times; then it is a cut body (``TransferError/Code/cut``). A change is noticed by
///   the times of content and inode.
/// * The folder is opened for each request: it may be replaced, and is 503 while it is not there.
package final class FolderTransport: HTTPTransport {
    private let folder: String
    /// The path of the base URL: the absolute path of the folder.
    private let basePath: String
    private let now: @Sendable () -> Date
    private static let rules = CacheRules(mode: .shared)

    /// - Throws: The reason why the folder cannot be opened.
    package init(
        _ path: String, below basePath: String, now: @escaping @Sendable () -> Date = { Date() }
    ) throws(Unusable) {
        folder = path
        self.basePath = basePath
        self.now = now
        guard let opened = OpenFolder.open(path) else { throw Unusable(reason: String(cString: strerror(errno))) }
        // The kernel may be older than the call, or a sandbox may forbid it.
        let probe = clinux_open_beneath(opened.descriptor, ".")
        guard probe >= 0 else { throw Unusable(reason: String(cString: strerror(errno))) }
        close(probe)
    }

    /// The reason why a folder cannot be used.
    package struct Unusable: Error {
        package let reason: String
    }

    package func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        let control = Control()
        sink.attach(control)
        events(.queued)
        var exchange = Exchange(request: request, sink: sink, control: control, events: events)
        while true {
            let plan = exchange.plan()
            let reply = reply(to: request, exchange.fields(plan))
            do throws(TransferError) {
                if let result = try await exchange.perform(plan, reply) { return result }
            } catch {
                guard error.code == .cut, exchange.triesAgain() else { throw error }
            }
        }
    }

    // MARK: Replies

    /// A response, and the file that its body comes from.
    fileprivate struct Reply {
        var head: ResponseHead
        var body: (file: OpenFile, range: Range<Int64>)?
    }

    private func reply(to request: TransferRequest, _ fields: HTTPFields) -> Reply {
        let time = now()
        func head(_ status: HTTPResponse.Status, _ fields: HTTPFields) -> ResponseHead {
            var fields = fields
            fields[.date] = HTTPDate.format(time)
            return ResponseHead(
                status: status, fields: fields, finalURL: request.url, requestTime: time, responseTime: time)
        }
        guard request.method == .get || request.method == .head else {
            return Reply(head: head(.methodNotAllowed, [.allow: "GET, HEAD", .contentLength: "0"]))
        }
        guard let path = path(of: request.url) else { return Reply(head: head(.notFound, [.contentLength: "0"])) }
        guard let opened = OpenFolder.open(folder) else {
            return Reply(head: head(.serviceUnavailable, [.contentLength: "0"]))
        }
        let file: OpenFile
        switch OpenFile.open(path, in: opened.descriptor) {
        case .success(let opened): file = opened
        case .failure(let failure): return Reply(head: head(failure.status, [.contentLength: "0"]))
        }
        let tag = file.state.entityTag(at: time)
        let own: HTTPFields = [
            .contentType: Self.mediaType(of: path), .contentLength: String(file.state.size),
            .lastModified: HTTPDate.format(file.state.modified), .eTag: tag.text,
            .acceptRanges: "bytes",
        ]
        guard request.fields.arePreconditionsMet(by: tag, modified: file.state.modified, at: time) else {
            return Reply(head: head(.preconditionFailed, [.contentLength: "0", .eTag: tag.text]))
        }
        let stored = StoredResponse(
            requestURL: request.url, status: .ok, fields: head(.ok, own).fields, requestTime: time, responseTime: time,
            extent: .complete(length: file.state.size))
        let asked = CacheRequest(method: request.method, url: request.url, fields: fields)
        guard let served = Self.rules.served(stored, for: asked, now: time) else {
            return Reply(head: head(.ok, own), body: (file, 0..<file.state.size))
        }
        let response = Self.rules.head(of: served, from: stored)
        var result = head(response.status, response.headerFields)
        result.fields[.age] = nil
        switch served.body {
        case .none: return Reply(head: result)
        case .whole: return Reply(head: result, body: (file, 0..<file.state.size))
        case .range(let range, _): return Reply(head: result, body: (file, range))
        }
    }

    /// The path below the folder; `nil` for one that names no file.
    private func path(of url: String) -> String? {
        guard let url = try? HTTPURL(url), url.path.hasPrefix(basePath + "/") else { return nil }
        var segments: [String] = []
        for segment in url.path.dropFirst(basePath.count + 1).split(separator: "/", omittingEmptySubsequences: false) {
            guard let bytes = PercentEncoding.strictlyDecoded(segment.utf8),
                !bytes.isEmpty, bytes.first != UInt8(ascii: "."), !bytes.contains(0),
                !bytes.contains(UInt8(ascii: "/")),
                let name = String(validating: bytes, as: UTF8.self)
            else { return nil }
            segments.append(name)
        }
        return segments.joined(separator: "/")
    }

    private static let mediaTypes = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "webp": "image/webp", "gif": "image/gif",
        "avif": "image/avif", "heic": "image/heic", "heif": "image/heif", "svg": "image/svg+xml", "bmp": "image/bmp",
        "jxl": "image/jxl",
        "ico": "image/x-icon", "tif": "image/tiff", "tiff": "image/tiff", "pdf": "application/pdf",
        "txt": "text/plain; charset=utf-8", "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "json": "application/json", "xml": "application/xml",
        "mp4": "video/mp4", "webm": "video/webm", "mp3": "audio/mpeg", "zip": "application/zip",
        "gz": "application/gzip",
    ]

    private static func mediaType(of path: String) -> String {
        let name = path[(path.lastIndex(of: "/") ?? path.startIndex)...]
        guard let dot = name.lastIndex(of: ".") else { return "application/octet-stream" }
        return mediaTypes[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }
}

/// An open folder.
private final class OpenFolder {
    let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Opens a folder; `nil` with errno after an error.
    static func open(_ path: String) -> OpenFolder? {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        return descriptor < 0 ? nil : OpenFolder(descriptor)
    }

    deinit { close(descriptor) }
}

/// An open file below the folder.
private final class OpenFile {
    /// The properties by which a change is noticed.
    struct State: Equatable {
        let inode: UInt64
        let size: Int64
        /// Nanoseconds since 1970.
        let contentChanged: Int64
        /// The time of change of the inode, in nanoseconds since 1970. Programs cannot set it back.
        let inodeChanged: Int64

        init(_ status: stat) {
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
            contentChanged = nanoseconds(status.st_mtim)
            inodeChanged = nanoseconds(status.st_ctim)
        }

        var modified: Date { Date(timeIntervalSince1970: (Double(contentChanged) / 1e9).rounded(.down)) }

        /// A second change within the clock's step has the same time, so the tag is weak at first (RFC 9110 section 8.8.1).
        func entityTag(at now: Date) -> EntityTag {
            let text = [inode, UInt64(size), UInt64(bitPattern: contentChanged), UInt64(bitPattern: inodeChanged)]
                .map { String($0, radix: 16) }.joined(separator: "-")
            let changed = Double(max(contentChanged, inodeChanged)) / 1e9
            return EntityTag(opaque: text, isWeak: now.timeIntervalSince1970 - changed < 1)
        }
    }

    struct Failure: Error {
        let status: HTTPResponse.Status
    }

    let descriptor: Int32
    let state: State

    private init(_ descriptor: Int32, _ state: State) {
        self.descriptor = descriptor
        self.state = state
    }

    deinit { close(descriptor) }

    static func open(_ path: String, in folder: Int32) -> Result<OpenFile, Failure> {
        let descriptor = clinux_open_beneath(folder, path)
        guard descriptor >= 0 else {
            switch errno {
            case EACCES, EPERM: return .failure(Failure(status: .forbidden))
            case EMFILE, ENFILE, ENOMEM: return .failure(Failure(status: .serviceUnavailable))
            case EIO, ESTALE: return .failure(Failure(status: .internalServerError))
            default: return .failure(Failure(status: .notFound))
            }
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return .failure(Failure(status: .notFound))
        }
        return .success(OpenFile(descriptor, State(status)))
    }

    var isUnchanged: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && State(status) == state
    }

    /// Reads into a buffer at an offset; 0 at the end of the file, -1 with errno after an error.
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 || errno != EINTR { return count }
        }
    }
}

/// The controls of a transfer from a folder.
private final class Control: TransferControl {
    private struct State {
        var isCancelled = false
        var resumed = Promise<Void>()
    }

    private let state = Locked(State())

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Fulfilled when the sink resumes the transfer after this, or has cancelled it.
    func nextResumption() -> Promise<Void> {
        let (resumed, isCancelled) = state.withLock { state in
            state.resumed = Promise()
            return (state.resumed, state.isCancelled)
        }
        if isCancelled { resumed.fulfill(()) }
        return resumed
    }

    func resume() { state.withLock { $0.resumed }.fulfill(()) }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        resume()
    }

    func prioritize(_ priority: TransferPriority) {}
}

/// One transfer: replies are passed on until the sink has the body.
private struct Exchange {
    let request: TransferRequest
    let sink: any BodySink
    let control: Control
    let events: @Sendable (TransferEvent) -> Void
    private var asksForHeld = true
    private var held: HeldPartial?
    private var resumedFrom: Int64 = 0
    private var received: Int64 = 0
    private var attempts = 0
    private var restarts: [String] = []

    init(
        request: TransferRequest, sink: any BodySink, control: Control,
        events: @escaping @Sendable (TransferEvent) -> Void
    ) {
        self.request = request
        self.sink = sink
        self.control = control
        self.events = events
    }

    private var mayResume: Bool {
        request.method == .get && request.body == nil && !request.fields.contains(.range)
            && !request.fields.contains(.ifRange)
    }

    private var conditions: HTTPFields {
        guard let conditions = request.conditions, conditions.url == request.url else { return [:] }
        return conditions.fields
    }

    /// The plan of the next attempt.
    mutating func plan() -> ResumePlan {
        if asksForHeld, mayResume { held = sink.held() }
        asksForHeld = false
        if attempts == 0 { resumedFrom = held?.heldBytes ?? 0 }
        attempts += 1
        events(.attempt(attempts))
        return ResumePlan(
            method: request.method, fields: request.fields, held: held, mayResume: mayResume, url: request.url,
            hasConditions: !conditions.isEmpty, forwardsErrorResponses: request.options.forwardsErrorResponses)
    }

    /// Returns true if the file is read again after it has changed.
    mutating func triesAgain() -> Bool {
        guard attempts < Self.mostAttempts, request.options.retry.maxRetries > 0, sink.canRestart() else {
            return false
        }
        asksForHeld = true
        return true
    }

    private static let mostAttempts = 4

    func fields(_ plan: ResumePlan) -> HTTPFields {
        var fields = request.fields
        for field in conditions { fields[field.name] = field.value }
        if let range = plan.range { fields[.range] = "bytes=" + range }
        if let ifRange = plan.ifRange { fields[.ifRange] = ifRange }
        return fields
    }

    /// Passes a reply on; `nil` if another request follows.
    mutating func perform(
        _ plan: ResumePlan, _ reply: FolderTransport.Reply
    ) async throws(TransferError) -> TransferResult? {
        try checkCancellation()
        switch plan.action(for: reply.head) {
        case .take(let placement, let length, let dropping):
            if let dropping { noteRestart(dropping) }
            return try await take(placement, length, reply, plan)
        case .alreadyComplete(let total):
            try tellSink { try sink.begin(reply.head, .alreadyComplete(total: total)) }
            events(.head(reply.head, resumedFrom: total, total: total))
            try tellSink { try sink.end(.complete) }
            return result(reply.head, .body)
        case .proveTotal, .restart:
            try tellSink { try sink.end(.discarded) }
            noteRestart("the file has changed")
            (resumedFrom, held) = (0, nil)
            return nil
        case .notModified: return result(reply.head, .notModified)
        case .status: return result(reply.head, .status)
        case .fail(let text): throw error(.protocolViolation, text)
        }
    }

    private mutating func take(
        _ placement: BodyPlacement, _ length: Int64?, _ reply: FolderTransport.Reply, _ plan: ResumePlan
    ) async throws(TransferError) -> TransferResult? {
        var (base, total): (Int64, Int64?) = (0, length)
        switch placement {
        case .range(_, let whole): (base, total) = (plan.held?.heldBytes ?? 0, whole)
        case .whole: resumedFrom = 0
        case .alreadyComplete: break
        }
        if let limit = request.options.maxFileSize, let total, total > limit {
            throw error(.tooLarge, "the body of \(total) bytes is larger than the limit of \(limit) bytes")
        }
        try tellSink { try sink.begin(reply.head, placement) }
        events(.head(reply.head, resumedFrom: base, total: total))
        if let (file, range) = reply.body { try await copy(range, of: file, base: base, total: total) }
        try tellSink { try sink.end(.complete) }
        guard let before = plan.partialAfter(placement) else { return result(reply.head, .body) }
        held = sink.held()
        guard let held, !held.missing.isEmpty, held.heldBytes > before.heldBytes else {
            return result(reply.head, .body)
        }
        return nil
    }

    private mutating func copy(
        _ range: Range<Int64>, of file: OpenFile, base: Int64, total: Int64?
    ) async throws(TransferError) {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.blockSize, alignment: 16)
        defer { block.deallocate() }
        var position = range.lowerBound
        while position < range.upperBound {
            let wanted = Int(min(Int64(block.count), range.upperBound - position))
            let count = file.read(UnsafeMutableRawBufferPointer(rebasing: block[..<wanted]), at: position)
            guard count > 0, file.isUnchanged else {
                let reason =
                    count < 0
                    ? "the file cannot be read: \(String(cString: strerror(errno)))"
                    : "the file changed while it was read"
                try? sink.end(.cut)
                throw error(.cut, reason, isRetryable: true)
            }
            try await write(UnsafeRawBufferPointer(rebasing: block[..<count]))
            position += Int64(count)
            received += Int64(count)
            events(.received(base + position - range.lowerBound, total: total))
        }
    }

    private static let blockSize = 262_144

    /// Writes bytes until the sink takes them.
    private func write(_ bytes: UnsafeRawBufferPointer) async throws(TransferError) {
        while true {
            let resumption = control.nextResumption()
            do {
                if case .accepted = try sink.write(bytes) { break }
            } catch {
                try? sink.end(.cut)
                throw self.error(.refusedBySink, "the body could not be stored", cause: error)
            }
            _ = await resumption.value()
            try checkCancellation(isOpen: true)
        }
        sink.writeBatchComplete()
        try checkCancellation(isOpen: true)
    }

    private func checkCancellation(isOpen: Bool = false) throws(TransferError) {
        guard Task.isCancelled || control.isCancelled else { return }
        if isOpen { try? sink.end(.cut) }
        throw error(.cancelled, "the transfer was cancelled")
    }

    private func tellSink(_ call: () throws -> Void) throws(TransferError) {
        do { try call() } catch {
            throw self.error(.refusedBySink, "the body could not be stored", cause: error)
        }
    }

    private mutating func noteRestart(_ reason: String) {
        restarts.append(reason)
        events(.restart(reason))
    }

    private func result(_ head: ResponseHead, _ outcome: TransferResult.Outcome) -> TransferResult {
        TransferResult(
            head: head, outcome: outcome, bytesReceived: received, resumedFrom: outcome == .body ? resumedFrom : 0,
            attempts: attempts, restarts: restarts)
    }

    private func error(
        _ code: TransferError.Code, _ message: String, cause: (any Error)? = nil, isRetryable: Bool = false
    ) -> TransferError {
        var error = TransferError(code, url: request.url, message, cause: cause, isRetryable: isRetryable)
        (error.bytesReceived, error.attempts) = (received, attempts)
        return error
    }
}
