import HTTPServer
import Synchronization

/// The place of a request in a trace, as `traceparent` states it (W3C Trace Context, level 1): `00-TRACE-SPAN-FLAGS`.
package struct TraceContext: Sendable, Hashable {
    /// 32 hexadecimal digits, not all zero.
    package let trace: String
    /// The sender's span: 16 hexadecimal digits, not all zero.
    package let span: String
    package let isSampled: Bool

    package init(trace: String, span: String, isSampled: Bool) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
    }

    /// Returns nil if the value must be ignored. Members after the flags are allowed in later versions only.
    package init?(_ value: String) {
        let parts = value.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, let version = Self.hexadecimal(parts[0], 2), version != "ff",
            version != "00" || parts.count == 4, let trace = Self.hexadecimal(parts[1], 32),
            let span = Self.hexadecimal(parts[2], 16), let flags = Self.hexadecimal(parts[3], 2),
            !trace.allSatisfy({ $0 == "0" }), !span.allSatisfy({ $0 == "0" }), let bits = UInt8(flags, radix: 16)
        else { return nil }
        self.init(trace: trace, span: span, isSampled: bits & 1 == 1)
    }

    /// The value of `traceparent`.
    package var text: String { "00-\(trace)-\(span)-\(isSampled ? "01" : "00")" }

    private static func hexadecimal(_ text: Substring, _ count: Int) -> String? {
        let isLowerHexadecimal = text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return text.utf8.count == count && isLowerHexadecimal ? String(text) : nil
    }
}

/// Ids of traces and spans, and the choice of the requests to be traced: no lock, no system call.
final class TraceNumbers: Sendable {
    static let shared = TraceNumbers()

    private let state = Atomic<UInt64>(.random(in: .min ... .max))

    func next() -> UInt64 {
        RequestID.mixed(state.wrappingAdd(RequestID.step, ordering: .relaxed).newValue)
    }

    /// True for a share of the calls.
    func isChosen(_ share: Double) -> Bool { Double(next() >> 11) * 0x1p-53 < share }

    /// A new id of a span; not all zero.
    func spanID() -> String {
        let number = next()
        return RequestID.hexadecimal(number == 0 ? 1 : number)
    }

    /// A new id of a trace; not all zero.
    func traceID() -> String { RequestID.hexadecimal(next()) + spanID() }
}
