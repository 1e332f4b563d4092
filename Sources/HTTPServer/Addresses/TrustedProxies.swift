import HTTPSemantics
import HTTPTypes

/// The proxies in front of the service whose information about clients is trusted.
package struct TrustedProxies: Sendable, Hashable {
    private let blocks: [AddressBlock]

    package init(_ blocks: [AddressBlock] = []) { self.blocks = blocks }

    var isEmpty: Bool { blocks.isEmpty }

    package func contains(_ client: ClientAddress) -> Bool {
        guard !blocks.isEmpty, let address = NetworkAddress(client.description) else { return false }
        return contains(address)
    }

    private func contains(_ address: NetworkAddress) -> Bool { blocks.contains { $0.contains(address) } }

    /// The client of a request: the rightmost address that is not a trusted proxy's, in `Forwarded` (RFC 7239) or
    /// `X-Forwarded-For`. Addresses further left were written by that client, and are arbitrary.
    ///
    /// - Parameter peer: The peer of the connection.
    func client(of fields: HTTPFields, from peer: ClientAddress) -> ClientAddress {
        guard contains(peer) else { return peer }
        let standard = ForwardedFor.nodes(inForwarded: fields[values: .forwarded])
        let common = ForwardedFor.nodes(inForwardedFor: fields[values: .xForwardedFor])
        switch (standard.isEmpty, common.isEmpty) {
        case (true, true): return peer
        case (false, true): return client(in: standard, behind: peer)
        case (true, false): return client(in: common, behind: peer)
        case (false, false):
            // A proxy writes one of the two fields and forwards the other unchanged, and it is unknown which one. A client that forges the
            // other field is therefore counted as the proxy.
            let clients = [standard, common].map { client(in: $0, behind: peer) }
            return clients[0] == clients[1] ? clients[0] : peer
        }
    }

    private func client(in nodes: [NetworkAddress?], behind peer: ClientAddress) -> ClientAddress {
        var client = peer
        for node in nodes.reversed() {
            // A name instead of an address: the proxy that wrote it counts as the client.
            guard let node else { return client }
            client = ClientAddress(node)
            guard contains(node) else { return client }
        }
        return client
    }
}

/// The addresses in forwarding fields, the first proxy's first. An entry that is not an address is nil.
enum ForwardedFor {
    /// The members of `X-Forwarded-For`: addresses, some with a port.
    static func nodes(inForwardedFor lines: [String]) -> [NetworkAddress?] {
        lines.flatMap { line in ListedTokens(line).map { node($0) } }
    }

    /// `for` of each element of `Forwarded` (RFC 7239 section 4); nil if there is none.
    static func nodes(inForwarded lines: [String]) -> [NetworkAddress?] {
        lines.flatMap { line in
            split(line[...], at: UInt8(ascii: ",")).compactMap { element in
                element.isEmpty ? nil : NodeOfElement(element).node
            }
        }
    }

    private struct NodeOfElement {
        let node: NetworkAddress?

        init(_ element: Substring) {
            var values: [Substring] = []
            for pair in ForwardedFor.split(element, at: UInt8(ascii: ";")) {
                guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
                guard pair[..<equals].lowercased() == "for" else { continue }
                values.append(pair[pair.utf8.index(after: equals)...])
            }
            // RFC 7239 section 4: each parameter once in an element.
            node = values.count == 1 ? ForwardedFor.node(unquoted(values[0])) : nil
        }
    }

    /// Splits outside of quoted strings, and trims white space.
    private static func split(_ text: Substring, at separator: UInt8) -> [Substring] {
        var parts: [Substring] = []
        var start = text.utf8.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in text.utf8.indices {
            let byte = text.utf8[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if byte == separator, !isQuoted {
                parts.append(text[start..<index].trimmed)
                start = text.utf8.index(after: index)
            }
        }
        parts.append(text[start...].trimmed)
        return parts
    }

    /// The content of a quoted string; addresses contain no characters that must be escaped.
    private static func unquoted(_ text: Substring) -> Substring {
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
        return text.dropFirst().dropLast()
    }

    /// `192.0.2.7`, `192.0.2.7:80`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:80` (RFC 7239 section 6).
    static func node(_ text: Substring) -> NetworkAddress? {
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            return NetworkAddress(String(text[text.index(after: text.startIndex)..<end]))?.withoutMapping
        }
        let colons = text.utf8.reduce(0) { $0 + ($1 == .colon ? 1 : 0) }
        let host = colons == 1 ? text.prefix { $0 != ":" } : text
        return NetworkAddress(String(host))?.withoutMapping
    }
}
