public import HTTPTypes
public import Transfer

/// A response of a ``ScriptedTransport``: its head, and its body step by step.
public struct ScriptedResponse: Sendable {
    /// One thing that happens while the body is transferred.
    public enum Step: Sendable {
        case bytes([UInt8])
        /// The next bytes do not come before the gate is open.
        case wait(AsyncGate)
        /// The connection ends here, in the middle of the body.
        case cut
    }

    public var status: HTTPResponse.Status
    public var fields: HTTPFields
    public var body: [Step]
    /// The head does not come before this gate is open.
    public var gate: AsyncGate?
    /// The attempt fails without a response.
    public var failure: TransferError.Code?
    /// Interim responses (1xx) that come before the head.
    public var interim: [HTTPResponse] = []

    /// A response with this body, whose `Content-Length` is set unless `fields` has one.
    ///
    /// - Parameters:
    ///   - status: The status of the response.
    ///   - fields: The response fields.
    ///   - steps: The events of the body, in their order.
    ///   - length: The value of `Content-Length` in bytes; `nil`: the length is unknown, the body ends with the connection.
    public init(_ status: HTTPResponse.Status = .ok, _ fields: HTTPFields = [:], steps: [Step], length: Int?) {
        self.status = status
        self.fields = fields
        body = steps
        if let length, !fields.contains(.contentLength) { self.fields[.contentLength] = String(length) }
    }

    /// A response with this body.
    public init(_ status: HTTPResponse.Status = .ok, _ fields: HTTPFields = [:], body: [UInt8] = []) {
        self.init(status, fields, steps: [.bytes(body)], length: body.count)
    }

    /// A redirect.
    public static func redirect(_ status: HTTPResponse.Status = .found, to location: String) -> ScriptedResponse {
        ScriptedResponse(status, [.location: location])
    }

    /// No response: the origin cannot be reached, or the connection ends before the head.
    public static func failure(_ code: TransferError.Code = .connect) -> ScriptedResponse {
        var response = ScriptedResponse()
        response.failure = code
        return response
    }

    /// This response, whose head waits for a gate.
    public func after(_ gate: AsyncGate) -> ScriptedResponse {
        var response = self
        response.gate = gate
        return response
    }

    /// This response, whose body stops after `count` bytes and goes on when the gate is open.
    public func pausing(after count: Int, for gate: AsyncGate) -> ScriptedResponse {
        inserting(.wait(gate), after: count)
    }

    /// This response, whose connection ends after `count` bytes of the body.
    public func cut(after count: Int) -> ScriptedResponse { inserting(.cut, after: count) }

    private func inserting(_ step: Step, after count: Int) -> ScriptedResponse {
        var response = self
        var (before, left): ([Step], Int) = ([], count)
        var rest = body[...]
        while let next = rest.first {
            guard case .bytes(let bytes) = next else {
                before.append(next)
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst()
            guard bytes.count > left else {
                before.append(next)
                left -= bytes.count
                continue
            }
            before += [.bytes(Array(bytes.prefix(left))), step, .bytes(Array(bytes.dropFirst(left)))]
            response.body = before + rest
            return response
        }
        response.body = before + [step]
        return response
    }
}
