import ConcurrencyPrimitives
import Digests
import Fleet
import Foundation
import HTTPSemantics
import HTTPTypes
import ImageCache
import ImageCacheTesting
import Transfer

/// The objects of an S3-compatible store in memory, which several caches share. A script makes it fail.
final class FakeObjectStore: Sendable {
    /// A way to fail, or to lie.
    enum Fault: String, Sendable, CaseIterable {
        /// The connection is refused; no response arrives in time; the response is cut off.
        case dead, hung, cut
        case status403, status500, status503
        /// Responses and images fail, whatever is small does not.
        case objects500
        /// Bytes with another digest; the object of another key; bytes that are not an object; no digest.
        case wrongBytes, otherObject, garbage, noDigest
        /// Fewer bytes than were stored; a part of a head, with its right digest.
        case shorter, truncatedHead
    }

    /// A way to list objects.
    enum Listing: Sendable {
        /// It lists nothing.
        case none
        case right
        /// Each page is the first one.
        case ignoresPosition
    }

    private struct Object {
        var bytes: [UInt8]
        var fields: HTTPFields
        /// By the store's clock.
        var modified: Date
    }

    private struct State {
        var objects: [String: Object] = [:]
        var fault: Fault?
        /// The store's clock, which is no machine's.
        var now = Date(timeIntervalSince1970: 1_700_000_000)
        var ignoresConditions = false
        var requests: [(method: HTTPRequest.Method, path: String)] = []
        var refusesParts = false
        /// The way to list objects.
        var listing = Listing.none
        /// The fault that begins after so many reads of parts.
        var later: (reads: Int, fault: Fault)?
        /// Uploads of one kind of object wait for it.
        var held: (kind: String, gate: AsyncGate)?
    }

    static let metaSHA256 = HTTPField.Name("X-Amz-Meta-Sha256") ?? .cookie

    private let state = Locked(State())

    var fault: Fault? {
        get { state.withLock { $0.fault } }
        set { state.withLock { $0.fault = newValue } }
    }

    /// The names of responses' objects.
    var keys: [String] { keys(of: "obj") }

    /// The names of objects of one kind.
    func keys(of kind: String) -> [String] {
        state.withLock { $0.objects.keys.filter { $0.contains("/v1/\(kind)/") }.sorted() }
    }

    /// The number of requests with a method for objects of one kind, responses' by default.
    func count(_ method: HTTPRequest.Method, of kind: String = "obj") -> Int {
        state.withLock { $0.requests.count { $0.method == method && $0.path.contains("/v1/\(kind)") } }
    }

    /// True to accept an upload whose condition is not met.
    var ignoresConditions: Bool {
        get { state.withLock { $0.ignoresConditions } }
        set { state.withLock { $0.ignoresConditions = newValue } }
    }

    /// True to take no parts of large bodies.
    var refusesParts: Bool {
        get { state.withLock { $0.refusesParts } }
        set { state.withLock { $0.refusesParts = newValue } }
    }

    var listing: Listing {
        get { state.withLock { $0.listing } }
        set { state.withLock { $0.listing = newValue } }
    }

    /// The number of listings.
    var listCount: Int { state.withLock { $0.requests.count { $0.path == "/bucket" } } }

    /// Sets the store's clock forward.
    func advance(seconds: Double) { state.withLock { $0.now += seconds } }
    // MARK: Parts of large bodies

    /// The names of the parts of bodies.
    var parts: [String] { state.withLock { $0.objects.keys.filter { $0.contains("/v1/part/") }.sorted() } }

    /// The number of requests with a method for parts.
    func partCount(_ method: HTTPRequest.Method) -> Int {
        state.withLock { $0.requests.count { $0.method == method && $0.path.contains("/v1/part/") } }
    }

    /// Changes an object, or removes it.
    ///
    /// - Parameter signs: True to store the digest of what it becomes.
    func edit(_ name: String, signs: Bool = true, _ change: ([UInt8]) -> [UInt8]?) {
        state.withLock { state in
            guard var object = state.objects[name] else { return }
            guard let bytes = change(object.bytes) else { return state.objects[name] = nil }
            object.bytes = bytes
            if signs { object.fields[Self.metaSHA256] = ShortSHA256.digest(of: bytes).hexadecimal }
            state.objects[name] = object
        }
    }

    /// The bytes of an object.
    func bytes(of name: String) -> [UInt8]? { state.withLock { $0.objects[name]?.bytes } }

    /// Has a fault begin after so many reads of parts.
    func fail(_ fault: Fault, after reads: Int) { state.withLock { $0.later = (reads, fault) } }

    /// Has uploads of one kind of object wait.
    func hold(_ kind: String, at gate: AsyncGate) { state.withLock { $0.held = (kind, gate) } }

    /// The settings of a cache that shares this store, over its own transport.
    func configuration(prefix: String = "ci") throws -> RemoteStoreConfiguration {
        var configuration = RemoteStoreConfiguration(
            location: try S3Location(endpoint: "http://store.example", bucket: "bucket", prefix: prefix),
            credentials: S3Credentials(accessKeyID: "id", secretKey: "secret"))
        // A loaded machine is not a slow store.
        configuration.slowResponse = .seconds(600)
        configuration.firstByteTimeout = .seconds(600)
        configuration.readTimeout = .seconds(600)
        configuration.transport = ScriptedTransport { self.response(to: $0) }
        return configuration
    }

    private func response(to request: ScriptedRequest) -> ScriptedResponse {
        let path = URL(string: request.url)?.path ?? ""
        return state.withLock { state in
            state.requests.append((request.method, path))
            if let later = state.later, request.method == .get, path.contains("/v1/part/") {
                if later.reads == 0 { state.fault = later.fault }
                state.later = later.reads == 0 ? nil : (later.reads - 1, later.fault)
            }
            switch state.fault {
            case .dead: return .failure(.connect)
            case .hung: return .failure(.stalled)
            case .status403: return ScriptedResponse(.forbidden, body: Array("<Code>AccessDenied</Code>".utf8))
            case .status500: return ScriptedResponse(.internalServerError)
            case .status503: return ScriptedResponse(.serviceUnavailable)
            case .objects500 where path.contains("/v1/obj/") || path.contains("/v1/img/"):
                return ScriptedResponse(.internalServerError)
            default: break
            }
            guard request.fields[.authorization]?.hasPrefix("AWS4-HMAC-SHA256 Credential=id/") == true else {
                return ScriptedResponse(.forbidden)
            }
            var response = Self.response(to: request, path, &state)
            response.fields[.date] = HTTPDate.format(state.now)
            guard request.method == .put, let held = state.held, path.contains("/v1/\(held.kind)") else {
                return response
            }
            return response.after(held.gate)
        }
    }

    private static func response(
        to request: ScriptedRequest, _ path: String, _ state: inout State
    ) -> ScriptedResponse {
        switch request.method {
        case .put where state.refusesParts && path.contains("/v1/part/"):
            return ScriptedResponse(.internalServerError)
        case .put:
            if request.fields[.ifNoneMatch] != nil, !state.ignoresConditions, state.objects[path] != nil {
                return ScriptedResponse(.preconditionFailed)
            }
            state.objects[path] = Object(bytes: request.body ?? [], fields: request.fields, modified: state.now)
            return ScriptedResponse(.ok)
        case .delete:
            state.objects[path] = nil
            return ScriptedResponse(.noContent)
        default:
            if path == "/bucket", state.listing != .none { return list(request, state) }
            guard let object = state.objects[path] else { return ScriptedResponse(.notFound) }
            let others = state.objects.filter { $0.key != path && $0.key.contains("/v1/obj/") }.map(\.value)
            var response = response(
                object, path.contains("/v1/obj/") || path.contains("/v1/part/") ? state.fault : nil, others: others)
            response.fields[.eTag] = "\"\(object.fields[metaSHA256] ?? "")\""
            response.fields[.lastModified] = HTTPDate.format(object.modified)
            guard let tag = request.fields[.ifNoneMatch], tag == response.fields[.eTag] else { return response }
            return ScriptedResponse(.notModified, response.fields)
        }
    }

    /// At most two objects.
    private static func list(_ request: ScriptedRequest, _ state: State) -> ScriptedResponse {
        let query = URLComponents(string: request.url)?.queryItems ?? []
        func value(_ name: String) -> String { query.first { $0.name == name }?.value ?? "" }
        let after = state.listing == .right ? value("start-after") : ""
        let keys = state.objects.keys.map { String($0.dropFirst("/bucket/".count)) }
            .filter { $0.hasPrefix(value("prefix")) && $0 > after }
        let entries = keys.sorted().prefix(2).map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }
        return ScriptedResponse(
            .ok, body: Array("<ListBucketResult>\(entries.joined())</ListBucketResult>".utf8))
    }

    private static func response(_ object: Object, _ fault: Fault?, others: [Object]) -> ScriptedResponse {
        var bytes = object.bytes
        var fields: HTTPFields = [metaSHA256: object.fields[metaSHA256] ?? ""]
        switch fault {
        case .wrongBytes: bytes[bytes.count - 1] ^= 1
        case .otherObject:
            guard let other = others.first else { return ScriptedResponse(.notFound) }
            bytes = other.bytes
            fields[metaSHA256] = other.fields[metaSHA256]
        case .garbage:
            // An object of another program, with its right digest.
            bytes = Array("garbage".utf8)
            fields[metaSHA256] = ShortSHA256.digest(of: bytes).hexadecimal
        case .noDigest: fields[metaSHA256] = nil
        case .shorter: bytes.removeLast(100)
        case .truncatedHead:
            bytes = Array(bytes.prefix(40))
            fields[metaSHA256] = ShortSHA256.digest(of: bytes).hexadecimal
        case .cut:
            return ScriptedResponse(
                .ok, fields, steps: [.bytes(Array(bytes.prefix(50))), .cut], length: bytes.count)
        default: break
        }
        return ScriptedResponse(.ok, fields, body: bytes)
    }
}
