import CacheTestSupport
import ConcurrencyPrimitives
import Foundation
import HTTPSemantics
import HTTPTypes
import ImageCacheTesting
import TestSupport
import Testing

@testable import ImageCache

/// Random histories of ranges, versions, failures, restarts and evictions, compared with a model: each response is a range of one version, and of none
/// that is out of date.
@Suite(.timeLimit) struct RangeHistoryTests {
    private static let lifetime = 60.0

    /// The origin: a series of versions of one resource, and its failures.
    private final class Origin: Sendable {
        enum Fault: CaseIterable, Sendable {
            case cut, error, wholeForRange, otherTag, shifted, otherTotal, noTag
        }

        struct State {
            var versions: [(representation: ScriptedRepresentation, begin: Double, end: Double)] = []
            var faults: [Fault] = []
            var random: SeededGenerator
            var hasFailed = false
        }

        let state: Locked<State>

        init(seed: UInt64) { state = Locked(State(random: SeededGenerator(seed: seed))) }

        func publish(_ size: Int, at time: Double) {
            state.withLock { state in
                let number = state.versions.count + 1
                if number > 1 { state.versions[number - 2].end = time }
                let bytes = ScriptedRepresentation.bytes(size, seed: UInt8(number))
                let representation = ScriptedRepresentation(
                    bytes, etag: "\"\(number)\"", [.cacheControl: "max-age=\(Int(lifetime))"])
                state.versions.append((representation, time, .infinity))
            }
        }

        func response(to request: ScriptedRequest) -> ScriptedResponse {
            state.withLock { state in
                let current = state.versions[state.versions.count - 1].representation
                var response = current.response(to: request)
                guard let fault = state.faults.popLast() else { return response }
                state.hasFailed = true
                switch fault {
                case .cut: return response.cut(after: Int.random(in: 0..<400_000, using: &state.random))
                case .error: return ScriptedResponse(.serviceUnavailable)
                case .wholeForRange:
                    return ScriptedResponse(
                        .ok, [.eTag: current.etag ?? "", .cacheControl: "max-age=60"], body: current.bytes)
                case .otherTag: response.fields[.eTag] = "\"other\""
                case .noTag: response.fields[.eTag] = nil
                case .shifted, .otherTotal:
                    guard case .range(let range, let total?)? = ContentRange(response.fields) else { break }
                    // With one more, the response to a suffix would be that of a file which has one byte more.
                    let more = request.fields[.range]?.hasPrefix("bytes=-") == true ? 2 : 1
                    response.fields[.contentRange] =
                        fault == .shifted
                        ? "bytes \(range.lowerBound + 1)-\(range.upperBound)/\(total + Int64(more))"
                        : "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total + 1)"
                }
                return response
            }
        }

        func add(_ fault: Fault) { state.withLock { $0.faults.append(fault) } }

        /// Returns true if a fault happened since the last call.
        func takeFailure() -> Bool {
            state.withLock { state in
                defer { state.hasFailed = false }
                return state.hasFailed
            }
        }
    }

    /// The time and the version at the last removal.
    private struct Model {
        var time = 0.0
        var removed = 0.0

        /// The reason why a body is wrong; `nil` if it is right.
        func objection(to body: Body, of range: Range<Int>, from origin: Origin) -> String? {
            let versions = origin.state.withLock { $0.versions }
            let matching = versions.filter { version in
                let bytes = version.representation.bytes
                return Body(Array(bytes[range.clamped(to: 0..<bytes.count)])) == body
            }
            if matching.isEmpty { return "it is a range of no version" }
            let isValid = matching.contains { $0.end >= max(removed, time - lifetime - 1) }
            return isValid ? nil : "its version is out of date"
        }
    }

    private static let seeds: [UInt64] = {
        var random = SeededGenerator(for: "histories of ranges")
        return (0..<Soak.count("IMGCACHE_RANGE_HISTORIES", usual: 16)).map { _ in random.next() }
    }()

    @Test(arguments: seeds) func `each range comes from one version that is not outdated`(
        _ seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        let block = Int(RangePlan.block)
        let origin = Origin(seed: seed ^ 1)
        var model = Model()
        func size() -> Int {
            [1000, block, 3 * block + 7, 17 * block + 1, 24 * block].randomElement(using: &random) ?? block
        }
        origin.publish(size(), at: 0)
        let directory = try TestDirectory()
        let capacity: Int64 = Bool.random(using: &random) ? 64 << 20 : 5 << 20
        func open() throws -> Bench {
            let bench = try Bench(.private, in: directory, { $0.store.capacity = capacity }) {
                origin.response(to: $0)
            }
            bench.advance(seconds: model.time)
            return bench
        }
        var bench = try open()
        var log: [String] = []
        for _ in 0..<30 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                origin.publish(size(), at: model.time)
                log.append("another version")
            case 1:
                let seconds = Double.random(in: 1..<80, using: &random)
                model.time += seconds
                bench.advance(seconds: seconds)
                log.append("\(seconds) s later")
            case 2:
                await bench.cache.close()
                bench = try open()
                log.append("reopened")
            case 3:
                _ = try await bench.cache.remove(bench.request())
                model.removed = model.time
                log.append("removed")
            case 4, 5:
                let fault = Origin.Fault.allCases.randomElement(using: &random) ?? .cut
                origin.add(fault)
                log.append("\(fault)")
            default:
                let length = Int.random(in: 1..<(Bool.random(using: &random) ? 1000 : 3 * block), using: &random)
                let ranges = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    let first = Int.random(in: 0..<18 * block, using: &random)
                    return first..<first + length
                }
                let consumer = RangeTests.consumers.randomElement(using: &random) ?? .answer
                log.append("\(consumer) \(ranges)")
                _ = origin.takeFailure()
                let outcomes = await withTaskGroup(of: (Range<Int>, Result<Bench.Outcome, any Error>).self) { group in
                    for range in ranges {
                        group.addTask { [bench] in
                            do {
                                let outcome = try await bench.get(consumer) { request in
                                    request.fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
                                    request.transfer.retry.maxRetries = 2
                                    request.transfer.retry.baseDelay = .milliseconds(1)
                                }
                                return (range, .success(outcome))
                            } catch {
                                return (range, .failure(error))
                            }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                let hasFailed = origin.takeFailure()
                for (range, result) in outcomes {
                    switch result {
                    case .success(let outcome) where outcome.code == 206:
                        let objection = model.objection(to: outcome.body, of: range, from: origin)
                        #expect(objection == nil, "\(seed): \(range) \(outcome.status) after \(log)")
                    case .success(let outcome) where outcome.code == 200:
                        let objection = model.objection(to: outcome.body, of: 0..<Int.max, from: origin)
                        #expect(objection == nil, "\(seed): \(range) \(outcome.status) after \(log)")
                    case .success(let outcome):
                        #expect(outcome.code == 416 || hasFailed, "\(seed): \(outcome.code) after \(log)")
                    case .failure(let error):
                        // After a response without a validator, all of the body is requested for a while.
                        let isTooLarge = (error as? ImageCacheError)?.code == .store(.tooLarge)
                        #expect(hasFailed || isTooLarge, "\(seed): \(error) after \(log)")
                    }
                }
            }
        }
        await bench.cache.close()
        #expect(DiskUsage.bytes(at: bench.cache.directory) <= capacity, "\(seed) after \(log)")
    }
}
