public import HTTPTypes
public import Transfer

/// A response of a ``ScriptedTransport``: its head, and its body step by step.
public struct ScriptedResponse: Sendable {
    /// A step in the transfer of the body.
    public enum Step: Sendable {
        case bytes([UInt8])
        /// Waits for the gate before the next bytes.
        case wait(AsyncGate)
        /// Ends the connection in the middle of the body.
        case cut
    }

    public var status: HTTPResponse.Status
    public var fields: HTTPFields
    public var body: [Step]
    /// A gate to wait for before the head.
    public var gate: AsyncGate?
    /// Fails the attempt without a response.
    public var failure: TransferError.Code?
    /// Interim responses (1xx) that come before the head.
    public var interim: [HTTPResponse] = []

    /// A response with this body, whose `Content-Length` is set unless `fields` has one.
    ///
    /// - Parameters:
    ///   - status: The status of the response.
    ///   - fields: The header fields.
    ///   - steps: The body, step by step.
    ///   - length: The value of `Content-Length`; `nil`: unknown, the end of the connection delimits the body.
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

    /// Returns this response, delayed until a gate opens.
    public func after(_ gate: AsyncGate) -> ScriptedResponse {
        var response = self
        response.gate = gate
        return response
    }

    /// Returns this response, whose body pauses after `count` bytes until the gate opens.
    public func pausing(after count: Int, for gate: AsyncGate) -> ScriptedResponse {
        inserting(.wait(gate), after: count)
    }

    /// Returns this response, whose connection ends after `count` bytes of the body.
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
