import ConcurrencyPrimitives
import Foundation
import TestSupport

/// The present state of a resource: everything that determines the origin's responses.
struct HistoryResource: Sendable {
    enum Validator: CaseIterable { case strong, weak, date, none }

    var version = 1
    var cacheControl: String?
    var validator = Validator.strong
    /// The request field that selects among its variants, if any.
    var vary: String?
    var status = 200
    var size = 100
}

/// Something that the origin sent: the ground of all that the cache may serve.
struct Emission: Sendable {
    /// The identity of the representation. Equal ones have the same bytes.
    struct Identity: Hashable, Sendable {
        var path: String
        var version: Int
        var variant: String
        var status: Int
        var size: Int

        /// One line again and again, so that bytes of two bodies never look like one.
        var body: Data {
            if let known = Self.bodies.withLock({ $0[self] }) { return known }
            var body = Data("\(path) v\(version) \(variant) \(status) \(size)\n".utf8)
            while body.count < size { body += body }
            body = body.prefix(size)
            Self.bodies.withLock { $0[self] = body }
            return body
        }

        private static let bodies = Locked<[Identity: Data]>([:])

        static func forgetBodies() { bodies.withLock { $0 = [:] } }
    }

    enum Kind: Sendable { case whole, part, confirmation, cut }

    var identity: Identity
    var kind: Kind
    var time: Date
    var resource: HistoryResource
    /// The scope of the answered request: see `HistoryRequest.scope`.
    var scope: String?
    var hadCookie: Bool
    /// True if a part was requested: such a response may have been forwarded, and not stored.
    var hadRange: Bool
}

/// An origin whose resources change, which records all of its responses, and fails on demand.
final class HistoryOrigin: Sendable {
    enum Failure: Sendable, Equatable { case none, status(Int), cut(after: Int) }

    struct State: Sendable {
        var resources: [String: HistoryResource] = [:]
        var emissions: [Emission] = []
        /// Held for the next requests, so many times.
        var failure = Failure.none
        var failures = 0
        /// The number of requests that it failed.
        var failed = 0
        var now = Date(timeIntervalSince1970: 1_800_000_000)
    }

    let state = Locked(State())
    private let server: ScriptedOrigin

    init() throws {
        let state = state
        server = try ScriptedOrigin(sendBuffer: nil) { request in
            state.withLock { $0.answer(request) }
        }
    }

    func url(_ path: String) -> String { server.url(path) }
    func stop() { server.stop() }
}

extension HistoryOrigin.State {
    fileprivate mutating func answer(_ request: ReceivedRequest) -> [OriginStep] {
        var failure = HistoryOrigin.Failure.none
        if failures > 0 {
            failures -= 1
            failed += 1
            failure = self.failure
        }
        let path = request.path
        guard var resource = resources[path] else { return [.head(status: 404, fields: [("Content-Length", "0")])] }
        if request.method == "POST" {
            resources[path]?.version += 1
            return [.head(status: 204, fields: [])]
        }
        if case .status(let status) = failure {
            resource.status = status
            resource.size = 60
        }
        if request["X-Odd"] != nil {
            // Refused because of a field of the request, with a storable page.
            (resource.status, resource.size, resource.cacheControl) = (400, 50, "public, max-age=600")
        }
        let variant = resource.vary.map { request[$0] ?? "none" } ?? "-"
        let identity = Emission.Identity(
            path: path, version: resource.version, variant: variant, status: resource.status, size: resource.size)
        var emission = Emission(
            identity: identity, kind: .whole, time: now, resource: resource,
            scope: HistoryRequest.scope(authorization: request["Authorization"]), hadCookie: request["Cookie"] != nil,
            hadRange: request["Range"] != nil)
        var fields = describing(resource, identity)
        if resource.status == 200, isConfirmed(request, identity, resource) {
            emission.kind = .confirmation
            emissions.append(emission)
            return [.head(status: 304, fields: fields)]
        }
        var body = identity.body
        if resource.status == 200, let start = resumption(request, identity, resource) {
            emission.kind = .part
            fields.append(("Content-Range", "bytes \(start.lowerBound)-\(start.upperBound - 1)/\(identity.size)"))
            body = body.subdata(in: start)
        }
        fields.append(("Content-Length", "\(body.count)"))
        var steps: [OriginStep] = [.head(status: emission.kind == .part ? 206 : resource.status, fields: fields)]
        if case .cut(let count) = failure, count < body.count {
            emission.kind = .cut
            steps += [.body(Array(body.prefix(count))), .cut(reset: false)]
        } else {
            steps.append(.body(Array(body)))
        }
        emissions.append(emission)
        return steps
    }

    private func describing(
        _ resource: HistoryResource, _ identity: Emission.Identity
    ) -> [(name: String, value: String)] {
        var fields = [("Date", httpDate(now))]
        if let cacheControl = resource.cacheControl { fields.append(("Cache-Control", cacheControl)) }
        if let vary = resource.vary { fields.append(("Vary", vary)) }
        guard resource.status == 200 else { return fields }
        if let tag = tag(identity, resource) { fields.append(("ETag", tag)) }
        if resource.validator == .date { fields.append(("Last-Modified", modified(identity))) }
        return fields
    }

    /// As nginx makes them: of what the file is like, not of where it lies.
    private func tag(_ identity: Emission.Identity, _ resource: HistoryResource) -> String? {
        switch resource.validator {
        case .strong: "\"\(identity.version)-\(identity.variant)-\(identity.size)\""
        case .weak: "W/\"\(identity.version)-\(identity.variant)\""
        case .date, .none: nil
        }
    }

    private func modified(_ identity: Emission.Identity) -> String {
        let variant = identity.variant.utf8.reduce(0) { $0 + Int($1) }
        return httpDate(Date(timeIntervalSince1970: 1_700_000_000 + Double(identity.version * 10_000 + variant)))
    }

    private func isConfirmed(
        _ request: ReceivedRequest, _ identity: Emission.Identity, _ resource: HistoryResource
    ) -> Bool {
        if let tags = request["If-None-Match"] { return tag(identity, resource).map { tags.contains($0) } ?? false }
        guard let date = request["If-Modified-Since"], resource.validator == .date else { return false }
        return date == modified(identity)
    }

    /// The bytes to continue with; nil: all of it is sent.
    private func resumption(
        _ request: ReceivedRequest, _ identity: Emission.Identity, _ resource: HistoryResource
    ) -> Range<Int>? {
        guard let range = request["Range"], range.hasPrefix("bytes=") else { return nil }
        if let condition = request["If-Range"] {
            guard resource.validator == .strong ? condition == tag(identity, resource) : condition == modified(identity)
            else { return nil }
        }
        let ends = range.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]), first < identity.size else { return nil }
        return first..<min(identity.size, (Int(ends[1]) ?? identity.size - 1) + 1)
    }
}
