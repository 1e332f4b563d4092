import FoundationEssentials
import HTTPSemantics
import ImageCache

/// What `POST /purge` is told: exactly one of `url`, `prefix`, `host` and `all`.
struct PurgeOrder: Decodable {
    var url: String?
    var prefix: String?
    var host: String?
    var all: Bool?

    enum Mistake: Error, Equatable {
        case notJSON
        case notOne
        case notURL(String)
    }

    static func target(of body: [UInt8]) throws(Mistake) -> PurgeTarget {
        guard let order = try? JSONDecoder().decode(PurgeOrder.self, from: Data(body)) else { throw .notJSON }
        let targets: [PurgeTarget?] = [
            order.url.map { .url($0) }, order.prefix.map { .prefix($0) }, order.host.map { .host($0) },
            order.all == true ? .everything : nil,
        ]
        let named = targets.compactMap(\.self)
        guard named.count == 1, let target = named.first else { throw .notOne }
        switch target {
        case .url(let url), .prefix(let url):
            // An empty beginning would be everything, which must be said.
            guard URLText.hasWebScheme(url) else { throw .notURL(url) }
        case .host(let host):
            // A port would match nothing.
            let isAddress = host.hasPrefix("[") && host.hasSuffix("]")
            guard !host.isEmpty, !host.contains("/"), isAddress || !host.contains(":") else { throw .notURL(host) }
        case .everything: break
        }
        return target
    }
}

/// What a purge answers.
struct PurgeAnswer: Encodable {
    /// Entries.
    var purged: Int
    /// What they took on disk.
    var bytes: Int64
}
