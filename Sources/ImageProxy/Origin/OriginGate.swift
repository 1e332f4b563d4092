import ConcurrencyPrimitives
import Digests
package import HTTPCaching
package import HTTPSemantics
import HTTPServer
package import HTTPTypes
import ImageCache
package import RemoteStore
package import Transfer

/// Admits the transfers to one origin of one configuration.
package final class OriginGate: TransferGate {
    /// The authorization of requests to the origin.
    package struct Authorization: Sendable {
        /// Fields that replace the client's.
        package var fields: HTTPFields = [:]
        /// Signs requests to a bucket.
        package var signer: S3Signer?
        /// The keys of the signer.
        package var credentials: S3Credentials?

        package init() {}

        /// A namespace for responses that only this authorization can access, or nil if there is none.
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
    private let lifetimes: LifetimeRules
    private let folder: FolderTransport?
    private static let rules = CacheRules(mode: .shared)
    private static let rulesOfFolders = CacheRules(mode: .shared, usesHeuristics: false)

    /// The namespace of stored responses (`FileRequest.owner`). It keeps responses that one origin's keys gave access to from being served
    /// for another origin's request of the same URL. nil if requests are not authorized.
    package let namespace: String?

    /// - Parameters:
    ///   - connections: The number of concurrent transfers with the origin's host, or nil for the engine's limit.
    ///   - lifetimes: The lifetimes of the origin's responses.
    ///   - folder: The folder that is the origin, or nil for a server.
    ///   - verdict: Decides which hosts may be contacted.
    package init(
        name: String, base: OriginBase, health: OriginHealth, authorization: Authorization = Authorization(),
        connections: Int? = nil, lifetimes: LifetimeRules = LifetimeRules(),
        folder: FolderTransport? = nil,
        verdict: @escaping @Sendable (AddressPolicy.Endpoint) -> AddressPolicy.Verdict
    ) {
        self.name = name
        self.base = base
        self.health = health
        self.authorization = authorization
        self.connections = connections
        self.lifetimes = lifetimes
        self.folder = folder
        namespace = authorization.namespace(at: base)
        addressPolicy = .judging(verdict)
    }

    /// The base of the URLs in the store, without credentials and without a trailing slash.
    package var storedURL: String {
        let url = base.url?.normalized ?? ""
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }

    /// The base URL as an operator knows it: ``storedURL``, or `file:///…` for a folder.
    package var shownURL: String {
        folder == nil ? storedURL : "file://\(base.url?.path ?? "")"
    }

    package func transport(for url: String) -> (any HTTPTransport)? {
        guard let folder, let url = try? HTTPURL(url), isOwn(url) else { return nil }
        return folder
    }

    package func connectionLimit(for url: HTTPURL) -> Int? { isOwn(url) ? connections : nil }

    package func admit(_ request: TransferRequest) async throws(TransferError) -> GateAdmission {
        // Requests to other hosts do not count for the origin's health, and do not get its keys.
        guard let url = try? HTTPURL(request.url), isOwn(url) else { return GateAdmission(request) }
        let admission: OriginHealth.Admission
        do throws(OriginPause) {
            admission = try health.begin(OriginBreaker.Asker(client: request.client, path: url.path))
        } catch {
            throw TransferError(
                .leftAlone, url: url.text, "the origin \"\(name)\" has failed, and is left alone for a while",
                cause: error)
        }
        var request = request
        request.originFields = authorization.fields
        if let signer = authorization.signer {
            do throws(TransferError) { try await sign(&request, url, by: signer) } catch {
                health.finished(.unknown, admission)
                throw error
            }
        }
        guard let trace = RequestSteps.recorder as? Trace else {
            return GateAdmission(request) { [health] in health.finished($0, admission) }
        }
        let (context, end) = trace.beginTransfer(host: url.host)
        request.originFields[.traceParent] = context.text
        return GateAdmission(request) { [health] outcome in
            health.finished(outcome, admission)
            if case .responded(let status) = outcome { end(status.code) } else { end(nil) }
        }
    }

    package func adjusted(_ head: ResponseHead, to request: TransferRequest) -> ResponseHead {
        if lifetimes.isEmpty, folder == nil { return head }
        var head = head
        // A folder's files have no lifetimes of their own, so that a 304 has the one of a 200.
        let status = folder != nil && head.status == .notModified ? .ok : head.status
        let limits = lifetimes.limits(
            path: (try? HTTPURL(request.url)).map { String($0.path) } ?? "", status: status)
        head.fields = limits.applied(
            to: head.fields, status: status, request: request.fields, receivedAt: head.responseTime,
            by: folder == nil ? Self.rules : Self.rulesOfFolders)
        if folder != nil, status.kind == .successful { Self.validateUnlessGiven(&head.fields) }
        return head
    }

    /// Has a file validated at each use, so that a change is seen at once, unless the operator's limits gave it a lifetime.
    private static func validateUnlessGiven(_ fields: inout HTTPFields) {
        let given = fields[.cacheControl]
        guard given?.contains("max-age=") != true else { return }
        fields[.cacheControl] = [given, "max-age=0"].compactMap(\.self).joined(separator: ", ")
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
