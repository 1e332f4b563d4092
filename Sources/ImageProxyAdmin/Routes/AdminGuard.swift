import Digests
import HTTPServer
import HTTPTypes

/// The conditions under which a request to the admin listener is answered.
///
/// * `Host` must be an address, `localhost`, the listener's name, or a configured one: a malicious page whose name
///   resolves to this address (DNS rebinding) always sends its own name.
/// * Changes require the token, which other pages do not have; without a configured token they are disabled.
struct AdminGuard: Sendable {
    private let names: Set<String>
    private let token: @Sendable () -> String?

    /// - Parameters:
    ///   - names: Host names that the listener accepts in addition to addresses and `localhost`.
    ///   - token: Returns the current token, or nil if purging is disabled.
    init(names: [String], token: @escaping @Sendable () -> String?) {
        self.names = Set(names.map { $0.lowercased() })
        self.token = token
    }

    var hasToken: Bool { token() != nil }

    /// Returns true if a request with this `Host` is accepted.
    func admits(_ field: HostField) -> Bool {
        switch field.host {
        case .address: true
        case .name(let name): name == "localhost" || name.hasSuffix(".localhost") || names.contains(name)
        }
    }

    enum AuthorizationError {
        /// No token was given: 401.
        case missing
        /// A wrong token was given: 403.
        case wrong
        /// No token is configured: 403.
        case notConfigured
    }

    /// Returns the reason why a request may not change anything; nil if it may.
    func authorizationError(authorization: String?) -> AuthorizationError? {
        guard let token = token() else { return .notConfigured }
        guard let authorization else { return .missing }
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return .missing }
        let given = words[1].drop { $0 == " " }
        return !token.isEmpty && ConstantTime.areEqual(Array(given.utf8), Array(token.utf8)) ? nil : .wrong
    }
}
