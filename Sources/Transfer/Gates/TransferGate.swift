package import HTTPSemantics
package import HTTPTypes

/// The decisions of a service about the transfers for one of its origins: the hosts that may be asked, whether the origin is asked at all, and the
/// additions to the requests.
///
/// A transfer keeps its gate until its end, so that it belongs to one configuration of the service.
package protocol TransferGate: AnyObject, Sendable {
    /// The addresses that the transfers may connect to, also after redirects. Replaces the engine's policy.
    var addressPolicy: AddressPolicy { get }

    /// The number of concurrent transfers with the host of a URL; `nil` for the engine's limit.
    func connectionLimit(for url: HTTPURL) -> Int?

    /// Returns when the transfer may begin.
    ///
    /// - Throws: The error with which the transfer fails.
    func admit(_ request: TransferRequest) async throws(TransferError) -> GateAdmission

    /// Returns a response head of the gate's origin as the transfer passes it on. The default changes nothing.
    func adjusted(_ head: ResponseHead, to request: TransferRequest) -> ResponseHead

    /// The transport of requests for a URL, in place of the HTTP client; `nil`, the default, for that.
    func transport(for url: String) -> (any HTTPTransport)?

    /// Returns true if a response came from the gate's origin, and not from another one after a redirect.
    func isOfOrigin(_ head: ResponseHead) -> Bool
}

extension TransferGate {
    package func adjusted(_ head: ResponseHead, to request: TransferRequest) -> ResponseHead { head }
    package func transport(for url: String) -> (any HTTPTransport)? { nil }
}

/// A transfer that a gate admits.
package struct GateAdmission: Sendable {
    /// The request to send.
    package var request: TransferRequest
    /// Called once with the outcome; `nil` if no report is needed.
    package var report: (@Sendable (GateOutcome) -> Void)?

    package init(_ request: TransferRequest, report: (@Sendable (GateOutcome) -> Void)? = nil) {
        self.request = request
        self.report = report
    }
}

/// The information about the origin that a transfer gives.
package enum GateOutcome: Sendable, Hashable {
    /// A response head was received, possibly a redirect to another origin. The body may be cut later.
    case responded(HTTPResponse.Status)
    /// The origin could not be reached, or did not respond in time or not in HTTP.
    case failed
    /// No information: the transfer was cancelled, or refused on this side.
    case unknown
}

/// A gate as a part of values that are compared. Gates are equal if they are the same object.
package struct GateReference: Sendable, Hashable {
    package let gate: any TransferGate

    package init(_ gate: any TransferGate) { self.gate = gate }

    package static func == (left: Self, right: Self) -> Bool { left.gate === right.gate }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(gate)) }
}
