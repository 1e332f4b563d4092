import HTTPSemantics
package import HTTPServer
package import HTTPTypes
package import ImageCache

/// Answers a request with what the origin says to it, through the cache (RFC 9110 section 7.6).
package struct ProxyEndpoint: RequestHandler {
    /// The facts that the proxy tells others of itself and of the client.
    package struct Options: Sendable {
        package var origin: OriginBase
        /// The name in Via.
        package var name = "imgcache"
        /// True if Forwarded tells the origin who asked (RFC 7239).
        package var tellsClient = false
        /// True if Server-Timing tells the client how long the cache took.
        package var tellsTiming = false
        /// The field that carries the request's id.
        package var idField: HTTPField.Name?
        /// Names of ``ClientAssertions``, in lower case, that are passed on.
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
        let hasContent = incoming.method == .get && response.head.status != .notModified
        return finished(response.head, body: hasContent ? .bytes(response.body) : .none, .hit, of: incoming)
    }

    package func response(to incoming: Request) async -> Response {
        guard Via.passes(of: options.name, in: incoming.head.fields) < Via.mostPasses else {
            return .failure(508, "loop", "The request has come through this proxy several times: it goes in a circle.")
        }
        guard var request = request(for: incoming) else {
            return .failure(
                400, "bad-target",
                "Only a path below the origin's can be asked for, percent-encoded and without dot segments.")
        }
        addHopFields(to: &request.fields, incoming)
        request.interim = incoming.interim
        do {
            let response = try await cache.forward(request)
            // Nobody asked for another protocol, and an interim response ends nothing (RFC 9110 section 15.2).
            guard response.head.status.code >= 200 else {
                return .failure(502, "origin-status", "The origin answered with an interim response alone.")
            }
            return finished(
                response.head, body: response.body.map { Response.Body($0) } ?? .none,
                CacheOutcome(response.cacheStatus),
                of: incoming)
        } catch {
            return Response(failure: error)
        }
    }

    private func request(for incoming: Request) -> ForwardRequest? {
        // Dot segments mean one thing here and another there.
        guard case .path(let path) = incoming.head.target,
            !DotSegments.areIn(path.utf8.prefix { $0 != UInt8(ascii: "?") }),
            let url = options.origin.url(for: path)
        else { return nil }
        var request = ForwardRequest(url, method: incoming.method)
        request.client = incoming.client.subscriber
        request.transfer = options.transfer
        request.fields = HopByHop.endToEnd(incoming.head, passing: options.passedFields)
        if !incoming.content.isEmpty { request.body = incoming.content }
        return request
    }

    /// Adds the fields that a request is given on its way to the origin.
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
    /// A body that is sent as it arrives.
    fileprivate init(_ body: ForwardedBody) {
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
