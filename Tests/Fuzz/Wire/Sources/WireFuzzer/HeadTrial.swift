import FoundationEssentials
import HTTPSemantics
import HTTPTypes

@testable import Transfer

/// A byte of choices, then what an origin sends up to its body: read as libcurl gives it, line by line, and judged as the response
/// to a request for the rest of a body.
struct HeadTrial {
    private let choices: UInt8
    private let bytes: [UInt8]

    init(_ input: UnsafeBufferPointer<UInt8>) {
        choices = input.first ?? 0
        bytes = Array(input.dropFirst())
    }

    private var held: HeldPartial {
        let isTotalKnown = choices & 1 == 0
        return HeldPartial(
            validator: choices & 2 == 0 ? .etag("\"v1\"") : .lastModified("Sun, 06 Nov 1994 08:49:37 GMT"),
            lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", total: isTotalKnown ? 1000 : nil,
            missing: choices & 4 == 0 ? [400..<(isTotalKnown ? 1000 : .max)] : isTotalKnown ? [] : [0..<Int64.max],
            url: "http://a/f")
    }

    func run() {
        var collector = HeadCollector()
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            let progress = rest[..<end].withUnsafeBytes { collector.append($0) }
            rest = rest[end...]
            precondition(collector.bytes.count <= HeadCollector.maxHeadBytes, "bounded")
            switch progress {
            case .more, .interim: continue
            case .violation: return
            case .complete(let status): judge(collector, status)
            }
        }
    }

    private func judge(_ collector: HeadCollector, _ status: Int) {
        let (version, fields) = collector.parsed()
        _ = MaskedHead.lines(collector.bytes)
        if let location = fields.redirectLocation, let base = try? HTTPURL("http://a/f") {
            _ = try? HTTPURL(reference: location, relativeTo: base)
        }
        var head = ResponseHead(
            status: .init(code: status), fields: fields, version: version, finalURL: "http://a/f", requestTime: Date(),
            responseTime: Date())
        guard head.unknownTransferCoding == nil else { return }
        head.removeFramingFields()
        for everyStatus in [false, true] {
            let plan = ResumePlan(
                method: .get, fields: [:], held: held, mayResume: choices & 8 == 0, url: "http://a/f",
                hasConditions: choices & 16 != 0, forwardsErrorResponses: everyStatus)
            check(plan.action(for: head), plan)
        }
    }

    private func check(_ action: ResumeAction, _ plan: ResumePlan) {
        switch action {
        case .take(.range(let range, let total), let length, _):
            guard case .range(let asked) = plan.requestedPart else {
                preconditionFailure("a range that nobody asked for")
            }
            precondition(
                range.lowerBound == asked.lowerBound && range.upperBound <= asked.upperBound, "not what was asked for")
            precondition(length == Int64(range.count) && range.upperBound <= total, "lengths")
            precondition(plan.held?.total ?? total == total, "another total")
        case .take(.whole(let length), let bodyLength, _):
            precondition(length == bodyLength && length ?? 0 >= 0, "lengths")
        case .alreadyComplete(let total), .proveTotal(let total):
            precondition(plan.held?.total ?? total == total && total > 0, "another total")
        case .notModified: precondition(plan.isConditional, "nobody asked")
        default: break
        }
    }
}
