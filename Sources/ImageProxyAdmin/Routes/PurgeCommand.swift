import FoundationEssentials
import HTTPSemantics
import ImageCache

/// The content of `POST /purge`: exactly one of `url`, `prefix`, `host` and `all`.
struct PurgeCommand: Decodable {
    var url: String?
    var prefix: String?
    var host: String?
    var all: Bool?

    enum ParsingError: Error, Equatable {
        case notJSON
        case notOne
        case notURL(String)
    }

    static func target(of body: [UInt8]) throws(ParsingError) -> PurgeTarget {
        guard let order = try? JSONDecoder().decode(PurgeCommand.self, from: Data(body)) else { throw .notJSON }
        let targets: [PurgeTarget?] = [
            order.url.map { .url($0) }, order.prefix.map { .prefix($0) }, order.host.map { .host($0) },
            order.all == true ? .everything : nil,
        ]
        let named = targets.compactMap(\.self)
        guard named.count == 1, let target = named.first else { throw .notOne }
        switch target {
        case .url(let url), .prefix(let url):
            // An empty prefix would mean everything, which must be explicit.
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

/// The response to a purge.
struct PurgeResponse: Encodable {
    /// Entries.
    var purged: Int
    /// The bytes that they took on disk.
    var bytes: Int64
}
