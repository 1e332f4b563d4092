import HTTPSemantics
package import HTTPServer
package import HTTPTypes
package import ImageCache

/// Answers a request with what the origin says to it, through the cache (RFC 9110 section 7.6).
package struct ProxyEndpoint: Endpoint {
    /// What it says of itself and of the client to others.
    package struct Options: Sendable {
        package var origin: OriginBase
        /// The name in Via.
        package var name = "imgcache"
        /// Whether Forwarded tells the origin who asked (RFC 7239).
        package var tellsClient = false
        /// Whether Server-Timing tells the client how long the cache took.
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
    let cache: ImageCache
    /// This proxy's member of Via.
    private let via: String

    package init(options: Options, cache: ImageCache) {
        self.options = options
        self.cache = cache
        via = "1.1 \(options.name)"
    }

    package func readyResponse(to exchange: Exchange) -> Response? {
        guard exchange.method == .get || exchange.method == .head, let request = request(for: exchange),
            let answer = cache.readyAnswer(to: request)
        else { return nil }
        let hasContent = exchange.method == .get && answer.head.status != .notModified
        return finished(answer.head, body: hasContent ? .bytes(answer.body) : .none, .hit, of: exchange)
    }

    package func response(to exchange: Exchange) async -> Response {
        guard Via.passes(of: options.name, in: exchange.head.fields) < Via.mostPasses else {
            return .failure(508, "loop", "The request has come through this proxy several times: it goes in a circle.")
        }
        guard var request = request(for: exchange) else {
            return .failure(
                400, "bad-target",
                "Only a path below the origin's can be asked for, percent-encoded and without dot segments.")
        }
        addHopFields(to: &request.fields, exchange)
        request.interim = exchange.interim
        do {
            let answer = try await cache.exchange(request)
            // Nobody asked for another protocol, and an interim response ends nothing (RFC 9110 section 15.2).
            guard answer.head.status.code >= 200 else {
                return .failure(502, "origin-status", "The origin answered with an interim response alone.")
            }
            return finished(
                answer.head, body: answer.content.map { Response.Body($0) } ?? .none, CacheOutcome(answer.cacheStatus),
                of: exchange)
        } catch {
            return Response(failure: error)
        }
    }

    private func request(for exchange: Exchange) -> FileRequest? {
        // Dot segments mean one thing here and another there.
        guard case .path(let path) = exchange.head.target,
            !DotSegments.areIn(path.utf8.prefix { $0 != UInt8(ascii: "?") }),
            let url = options.origin.url(for: path)
        else { return nil }
        var request = FileRequest(url)
        request.method = exchange.method
        request.client = exchange.client.subscriber
        request.transfer = options.transfer
        request.fields = HopByHop.endToEnd(exchange.head, passing: options.passedFields)
        if !exchange.content.isEmpty { request.body = exchange.content }
        return request
    }

    /// What a request is given on its way to the origin.
    private func addHopFields(to fields: inout HTTPFields, _ exchange: Exchange) {
        Via.append(options.name, minorVersion: exchange.head.minorVersion, to: &fields)
        if let name = options.idField { fields[name] = exchange.id }
        if options.tellsClient {
            Forwarded.append(exchange, continuing: options.trustedProxies.contains(exchange.peer), to: &fields)
        }
        if exchange.method == .options, let left = exchange.head.fields[.maxForwards].flatMap({ Int($0) }), left > 0 {
            fields[.maxForwards] = String(left - 1)
        }
    }

    private func finished(
        _ head: HTTPResponse, body: Response.Body, _ outcome: CacheOutcome, of exchange: Exchange
    ) -> Response {
        var response = Response(head, body: body, outcome: outcome)
        response.via = via
        if options.tellsTiming {
            ServerTiming.append(outcome, since: exchange.received, to: &response.head.headerFields)
        }
        return response
    }
}

extension Response.Body {
    /// Content that is sent as it arrives.
    fileprivate init(_ content: AnswerContent) {
        self = .stream(length: content.length) { writer in
            for try await piece in content {
                switch piece {
                case .bytes(let bytes): try await writer.write(bytes)
                case .stored(let descriptor, let range): try await writer.write(descriptor, range)
                }
            }
        }
    }
}
