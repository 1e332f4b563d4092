package import HTTPSemantics
package import HTTPTypes

/// The decisions of a service about the transfers for one of its origins: which hosts they may ask, whether the origin is asked at all, and
/// what is added to their requests.
///
/// A transfer keeps its gate to its end, so that it belongs to one configuration of the service.
package protocol TransferGate: AnyObject, Sendable {
    /// The addresses that the transfers may connect to, also after redirects; in place of the engine's policy.
    var addressPolicy: AddressPolicy { get }

    /// The number of concurrent transfers with the host of a URL; nil: the engine's.
    func connectionLimit(for url: HTTPURL) -> Int?

    /// Lets a transfer begin.
    ///
    /// - Throws: An error in place of the transfer's.
    func admit(_ request: TransferRequest) async throws(TransferError) -> GateAdmission

    /// True if a response came from the gate's origin, and not from another one that it redirected to.
    func isOfOrigin(_ head: ResponseHead) -> Bool
}

/// The transfer that a gate lets through.
package struct GateAdmission: Sendable {
    /// The request to send.
    package var request: TransferRequest
    /// Told of the outcome, once; nil: nobody is interested.
    package var report: (@Sendable (GateOutcome) -> Void)?

    package init(_ request: TransferRequest, report: (@Sendable (GateOutcome) -> Void)? = nil) {
        self.request = request
        self.report = report
    }
}

/// The sign of its origin that a transfer gives.
package enum GateOutcome: Sendable, Hashable {
    /// The head of a response came, perhaps a redirect to another origin. The body may be cut later.
    case responded(HTTPResponse.Status)
    /// The origin could not be reached, or did not respond in time or not in HTTP.
    case failed
    /// Nothing: the transfer was cancelled, or was refused on this side.
    case unknown
}

/// A gate as a part of values that are compared: by identity.
package struct GateReference: Sendable, Hashable {
    package let gate: any TransferGate

    package init(_ gate: any TransferGate) { self.gate = gate }

    package static func == (left: Self, right: Self) -> Bool { left.gate === right.gate }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(gate)) }
}
