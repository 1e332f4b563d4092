import Digests
import HTTPServer
import HTTPTypes

/// The conditions under which a request to the admin listener is answered.
///
/// * `Host` must be an address, `localhost`, the name that the listener was given, or one that the configuration allows: a page
///   of somebody else's whose name was made to lead here (DNS rebinding) always comes under a name of its own.
/// * What changes something needs the token, which no other page has; without a configured token nothing may be changed.
struct AdminGuard: Sendable {
    private let names: Set<String>
    private let token: @Sendable () -> String?

    /// - Parameters:
    ///   - names: hosts that the listener answers to beside addresses and `localhost`.
    ///   - token: the token as it is configured now; nil: nobody may purge.
    init(names: [String], token: @escaping @Sendable () -> String?) {
        self.names = Set(names.map { $0.lowercased() })
        self.token = token
    }

    var hasToken: Bool { token() != nil }

    /// Returns true if a request with this `Host` is meant for this listener.
    func admits(_ field: HostField) -> Bool {
        switch field.host {
        case .address: true
        case .name(let name): name == "localhost" || name.hasSuffix(".localhost") || names.contains(name)
        }
    }

    enum AuthorizationError {
        /// No token was given: 401.
        case missing
        /// Another one: 403.
        case wrong
        /// There is none that would do: 403.
        case notConfigured
    }

    /// Returns the reason why a request may not change anything; nil: it may.
    func authorizationError(authorization: String?) -> AuthorizationError? {
        guard let token = token() else { return .notConfigured }
        guard let authorization else { return .missing }
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return .missing }
        let given = words[1].drop { $0 == " " }
        return !token.isEmpty && ConstantTime.areEqual(Array(given.utf8), Array(token.utf8)) ? nil : .wrong
    }
}
