import ConcurrencyPrimitives
import Digests
package import HTTPSemantics
package import HTTPTypes
import ImageCache
package import RemoteStore
package import Transfer

/// One origin of one configuration, as its transfers see it.
package final class OriginGate: TransferGate {
    /// The way in which requests to the origin are authorised.
    package struct Authorization: Sendable {
        /// Fields in place of the client's.
        package var fields: HTTPFields = [:]
        /// Signs requests to a bucket.
        package var signer: S3Signer?
        /// The keys with which it signs.
        package var credentials: S3Credentials?

        package init() {}

        /// A name for what only this authorisation gets to see, nil if there is none.
        fileprivate func namespace(at base: OriginBase) -> String? {
            guard !fields.isEmpty || signer != nil else { return nil }
            var text = "\(base.url?.userinfo ?? "")\n\(credentials?.accessKeyID ?? "")\n"
            for field in fields { text += "\(field.name.canonicalName): \(field.value)\n" }
            return "origin " + ShortSHA256.digest(of: text.utf8).hexadecimal
        }
    }

    package let name: String
    package let base: OriginBase
    package let health: OriginHealth
    package let addressPolicy: AddressPolicy
    private let authorization: Authorization
    private let connections: Int?

    /// The namespace of what is stored (`FileRequest.owner`): what one origin's keys open is not served to those of another at the same
    /// URL. nil: the requests have nothing but their URL.
    package let namespace: String?

    /// - Parameters:
    ///   - connections: The number of concurrent transfers with the origin's host; nil: the engine's.
    ///   - verdict: The hosts that may be asked.
    package init(
        name: String, base: OriginBase, health: OriginHealth, authorization: Authorization = Authorization(),
        connections: Int? = nil,
        verdict: @escaping @Sendable (AddressPolicy.Endpoint) -> AddressPolicy.Verdict
    ) {
        self.name = name
        self.base = base
        self.health = health
        self.authorization = authorization
        self.connections = connections
        namespace = authorization.namespace(at: base)
        addressPolicy = .judging(verdict)
    }

    /// The base's URL as the store knows it, without credentials and without a slash at its end.
    package var shownURL: String {
        let url = base.url?.normalized ?? ""
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }

    package func connectionLimit(for url: HTTPURL) -> Int? { isOwn(url) ? connections : nil }

    package func admit(_ request: TransferRequest) async throws(TransferError) -> GateAdmission {
        // Originals of other hosts say nothing of the origin, and get none of its keys.
        guard let url = try? HTTPURL(request.url), isOwn(url) else { return GateAdmission(request) }
        let permit: OriginBreaker.Permit?
        do throws(OriginPause) {
            permit = try health.begin(OriginBreaker.Asker(client: request.client, path: url.path))
        } catch {
            throw TransferError(
                .leftAlone, url: url.text, "the origin \"\(name)\" has failed, and is left alone for a while",
                cause: error)
        }
        var request = request
        request.originFields = authorization.fields
        if let signer = authorization.signer {
            do throws(TransferError) { try await sign(&request, url, by: signer) } catch {
                health.finished(.unknown, permit)
                throw error
            }
        }
        return GateAdmission(request) { [health] in health.finished($0, permit) }
    }

    package func isOfOrigin(_ head: ResponseHead) -> Bool { (try? HTTPURL(head.finalURL)).map(isOwn) ?? true }

    private func isOwn(_ url: HTTPURL) -> Bool { base.url.map { url.hasSameOrigin(as: $0) } ?? false }

    private func sign(_ request: inout TransferRequest, _ url: HTTPURL, by signer: S3Signer) async throws(TransferError)
    {
        guard let path = String(validating: PercentEncoding.decoded(url.path.utf8), as: UTF8.self) else {
            throw TransferError(.invalidRequest, url: url.text, "the key of an object is UTF-8")
        }
        do throws(RemoteError) {
            let signature = try await signer.fields(request.method, path: path)
            for field in signature { request.originFields[field.name] = field.value }
        } catch {
            throw TransferError(.connect, url: url.text, "the request cannot be signed", cause: error)
        }
        request.url = signer.url(path: path)
    }
}
