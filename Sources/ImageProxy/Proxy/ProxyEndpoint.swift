import HTTPSemantics
package import HTTPServer
package import HTTPTypes
package import ImageCache

/// Forwards requests to the origin through the cache (RFC 9110 section 7.6).
package struct ProxyEndpoint: RequestHandler {
    /// The options of the proxy: its name, and the information that it adds to messages.
    package struct Options: Sendable {
        package var origin: OriginBase
        /// The beginning of clients' paths, which is replaced by the origin's base.
        package var prefix = PathPrefix.root
        /// The namespace of stored responses, or nil for the common one (``OriginGate/namespace``).
        package var namespace: String?
        /// The names of client fields that are not forwarded, in lower case.
        package var droppedFields: Set<String> = []
        /// Returns false once another configuration has replaced this one.
        package var isCurrent: @Sendable () -> Bool = { true }
        /// The name in Via.
        package var name = "imgcache"
        /// True to send the client's address to the origin in Forwarded (RFC 7239).
        package var tellsClient = false
        /// True to forward PURGE requests. The origin may handle them itself, or invalidate responses stored for all clients.
        package var forwardsPurge = false
        /// True to announce control files of zsync (``ControlFiles``).
        package var announcesControlFiles = false
        /// True to add the duration in Server-Timing.
        package var tellsTiming = false
        /// The field for the request's id.
        package var idField: HTTPField.Name?
        /// The names of ``ClientAssertions`` to forward, in lower case.
        package var passedFields: Set<String> = []
        /// Proxies whose `Forwarded` is continued.
        package var trustedProxies = TrustedProxies()
        /// Time-outs and limits of transfers.
        package var transfer = TransferOptions()

        package init(origin: OriginBase) { self.origin = origin }
    }

    let options: Options
    let cache: DownloadCache
    /// This proxy's member of Via.
    private let via: String

    package init(options: Options, cache: DownloadCache) {
        self.options = options
        self.cache = cache
        via = "1.1 \(options.name)"
    }

    package func readyResponse(to incoming: Request) -> Response? {
        guard incoming.method == .get || incoming.method == .head, let request = request(for: incoming),
            let response = cache.hotResponse(for: request)
        else { return nil }
        // Neither a short range of an incomplete body nor a small body has a control file.
        let (body, outcome): (Response.Body, CacheOutcome) =
            switch response.body {
            case .stored(let file): (Response.Body(file), .hit)
            case .bytes(let bytes): (.bytes(bytes), .memory)
            case nil: (.none, .memory)
            }
        var own = finished(response.head, body: body, outcome, of: incoming)
        if !options.tellsTiming, let reuse = response.reuse {
            own.reuse = ResponseReuse(selectingNames: Array(reuse.selectingNames), lifetime: reuse.lifetime) {
                [isCurrent = options.isCurrent] in isCurrent() && reuse.permits()
            }
        }
        return own
    }

    package func response(to incoming: Request) async -> Response {
        guard Via.passes(of: options.name, in: incoming.head.fields) < Via.mostPasses else {
            return .failure(508, "loop", "The request has passed this proxy several times: there is a loop.")
        }
        if options.origin.isStorage, incoming.method != .get, incoming.method != .head {
            return .failure(405, "method", "Objects support GET and HEAD only.", fields: [.allow: "GET, HEAD"])
        }
        if incoming.method.rawValue == "PURGE", !options.forwardsPurge {
            return .failure(
                405, "method", "PURGE is accepted by the admin listener only.", fields: [.allow: Router.allowed])
        }
        guard var request = request(for: incoming) else {
            return .failure(
                400, "bad-target",
                "Only a path below the origin's is allowed, percent-encoded and without dot segments.")
        }
        addHopFields(to: &request.fields, incoming)
        request.interim = incoming.interim
        do {
            let response = try await cache.forward(request)
            // An origin cannot switch protocols unrequested, and an interim response is not final (RFC 9110 section 15.2).
            guard response.head.status.code >= 200 else {
                return .failure(502, "origin-status", "The origin sent an interim response only.")
            }
            var own = finished(
                response.head, body: response.body.map { Response.Body($0) } ?? .none,
                CacheOutcome(response.cacheStatus),
                of: incoming)
            if options.announcesControlFiles, let link = await controlFileLink(in: response, to: request, incoming) {
                own.head.headerFields.append(HTTPField(name: .link, value: link))
            }
            return own
        } catch {
            return Response(failure: error)
        }
    }

    /// The link to the control file of a response's body, or nil if the body is not completely stored.
    private func controlFileLink(
        in response: ForwardedResponse, to request: ForwardRequest, _ incoming: Request
    ) async -> String? {
        guard case .path(let target) = incoming.head.target, incoming.method == .get || incoming.method == .head,
            let link = ControlFiles.link(to: target, of: response.head)
        else { return nil }
        if let body = response.body { return body.stored?.file == nil ? nil : link }
        let file = try? await cache.storedFile(for: request)
        return file.flatMap { $0 }.map { _ in link }
    }

    func request(for incoming: Request) -> ForwardRequest? {
        // This proxy and the origin may resolve dot segments differently.
        guard case .path(let path) = incoming.head.target,
            !DotSegments.occur(in: path.utf8.prefix { $0 != UInt8(ascii: "?") }),
            let rest = options.prefix.rest(of: path), let url = options.origin.url(for: rest)
        else { return nil }
        var request = ForwardRequest(url, method: incoming.method)
        request.owner = options.namespace
        request.client = incoming.client.subscriber
        request.transfer = options.transfer
        request.fields = HopByHop.endToEnd(incoming.head, passing: options.passedFields) { name in
            options.droppedFields.contains(name) || options.origin.isStorage && name.hasPrefix("x-amz-")
        }
        if !incoming.content.isEmpty { request.body = incoming.content }
        return request
    }

    /// Adds fields to a request on its way to the origin.
    private func addHopFields(to fields: inout HTTPFields, _ incoming: Request) {
        Via.append(options.name, minorVersion: incoming.head.minorVersion, to: &fields)
        if let name = options.idField { fields[name] = incoming.id }
        if options.tellsClient {
            Forwarded.append(incoming, continuing: options.trustedProxies.contains(incoming.peer), to: &fields)
        }
        if incoming.method == .options, let left = incoming.head.fields[.maxForwards].flatMap({ Int($0) }), left > 0 {
            fields[.maxForwards] = String(left - 1)
        }
    }

    private func finished(
        _ head: HTTPResponse, body: Response.Body, _ outcome: CacheOutcome, of incoming: Request
    ) -> Response {
        var response = Response(head, body: body, outcome: outcome)
        response.via = via
        if options.tellsTiming {
            ServerTiming.append(outcome, since: incoming.received, to: &response.head.headerFields)
        }
        return response
    }
}

extension Response.Body {
    fileprivate init(_ response: CachedResponse) {
        guard let descriptor = response.descriptor, let range = response.range else {
            self = .none
            return
        }
        self = .file(Response.FileContent(descriptor, range, ownedBy: response))
    }

    /// Sends a body as it arrives.
    fileprivate init(_ body: ForwardedBody) {
        if let stored = body.stored {
            self.init(stored)
            return
        }
        self = .stream(length: body.length) { writer in
            for try await piece in body {
                switch piece {
                case .bytes(let bytes): try await writer.write(bytes)
                case .stored(let descriptor, let range): try await writer.write(descriptor, range)
                }
            }
        }
    }
}
