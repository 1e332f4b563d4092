import FoundationEssentials
import HTTPSemantics
import ImageCache

/// The content of `POST /purge`: exactly one of `url`, `prefix`, `host`, `origin` (a name) and `all`.
struct PurgeCommand: Decodable {
    var url: String?
    var prefix: String?
    var host: String?
    var origin: String?
    var all: Bool?

    enum ParsingError: Error, Equatable {
        case notJSON
        case notOne
        case notURL(String)
    }

    /// The entries to remove.
    enum Scope: Equatable {
        case target(RemovalTarget)
        /// All entries below the URL of the named origin.
        case origin(String)
    }

    static func scope(of body: [UInt8]) throws(ParsingError) -> Scope {
        guard let command = try? JSONDecoder().decode(PurgeCommand.self, from: Data(body)) else { throw .notJSON }
        let scopes: [Scope?] = [
            command.origin.map { .origin($0) }, command.url.map { .target(.url($0)) },
            command.prefix.map { .target(.prefix($0)) },
            command.host.map { .target(.host($0)) }, command.all == true ? .target(.everything) : nil,
        ]
        let named = scopes.compactMap(\.self)
        guard named.count == 1, let scope = named.first else { throw .notOne }
        switch scope {
        case .target(.url(let url)), .target(.prefix(let url)):
            // An empty prefix would match everything, which requires `all`.
            guard URLText.hasWebScheme(url) else { throw .notURL(url) }
        case .target(.host(let host)):
            // A port would match nothing.
            guard let host = HTTPURL.host(host) else { throw .notURL(host) }
            return .target(.host(host))
        case .target, .origin: break
        }
        return scope
    }
}

/// The response to a purge.
struct PurgeResponse: Encodable {
    /// The number of removed entries.
    var purged: Int
    /// The disk space of the removed entries, in bytes.
    var bytes: Int64
}

extension PurgeResponse {
    init(_ result: RemovalResult) { self.init(purged: result.entries, bytes: result.bytes) }
}
