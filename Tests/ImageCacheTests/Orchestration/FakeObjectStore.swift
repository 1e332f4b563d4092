import ConcurrencyPrimitives
import Digests
import Foundation
import HTTPTypes
import ImageCache
import ImageCacheTesting
import Transfer

/// Objects of an S3-compatible store in memory, which several caches share: a bucket of what its script is told to do.
final class FakeObjectStore: Sendable {
    /// A way to fail, or to lie.
    enum Fault: String, Sendable, CaseIterable {
        /// Nobody listens; no response comes in time; the response is cut.
        case dead, hung, cut
        case status403, status500, status503
        /// Bytes that are not those of the digest; the object of another key; bytes that are no object; no digest.
        case wrongBytes, otherObject, garbage, noDigest
        /// Fewer bytes than were stored; a part of a head, with its right digest.
        case shorter, truncatedHead
    }

    private struct Object {
        var bytes: [UInt8]
        var fields: HTTPFields
    }

    private struct State {
        var objects: [String: Object] = [:]
        var fault: Fault?
        var requests: [(method: HTTPRequest.Method, path: String)] = []
    }

    static let metaSHA256 = HTTPField.Name("X-Amz-Meta-Sha256") ?? .cookie

    private let state = Locked(State())

    var fault: Fault? {
        get { state.withLock { $0.fault } }
        set { state.withLock { $0.fault = newValue } }
    }

    var keys: [String] { state.withLock { $0.objects.keys.sorted() } }

    /// The number of requests with a method.
    func count(_ method: HTTPRequest.Method) -> Int {
        state.withLock { $0.requests.count { $0.method == method } }
    }

    /// The settings of a cache that shares this store, over a transport of its own.
    func configuration() throws -> RemoteStoreConfiguration {
        var configuration = RemoteStoreConfiguration(
            location: try S3Location(endpoint: "http://store.example", bucket: "bucket", prefix: "ci"),
            credentials: S3Credentials(accessKeyID: "id", secretKey: "secret"))
        configuration.transport = ScriptedTransport { self.response(to: $0) }
        return configuration
    }

    private func response(to request: ScriptedRequest) -> ScriptedResponse {
        let path = URL(string: request.url)?.path ?? ""
        return state.withLock { state in
            state.requests.append((request.method, path))
            switch state.fault {
            case .dead: return .failure(.connect)
            case .hung: return .failure(.stalled)
            case .status403: return ScriptedResponse(.forbidden, body: Array("<Code>AccessDenied</Code>".utf8))
            case .status500: return ScriptedResponse(.internalServerError)
            case .status503: return ScriptedResponse(.serviceUnavailable)
            default: break
            }
            guard request.fields[.authorization]?.hasPrefix("AWS4-HMAC-SHA256 Credential=id/") == true else {
                return ScriptedResponse(.forbidden)
            }
            switch request.method {
            case .put:
                state.objects[path] = Object(bytes: request.body ?? [], fields: request.fields)
                return ScriptedResponse(.ok)
            case .delete:
                state.objects[path] = nil
                return ScriptedResponse(.noContent)
            default:
                guard let object = state.objects[path] else { return ScriptedResponse(.notFound) }
                return Self.response(object, state.fault, others: state.objects.filter { $0.key != path }.map(\.value))
            }
        }
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
