import ConcurrencyPrimitives
import HTTPSemantics
import Transfer

/// The mirrors that may bring parts of a body while another one brings it: one of each origin.
final class FurtherMirrors: Sendable {
    private struct State {
        var bytes: Int64 = 0
        var contributors: Set<String> = []
        var unjoinable: Set<String> = []
        var failed: Set<String> = []
    }

    private let first: Mirror
    private let mirrors: [Mirror]
    private let transport: MirroringTransport
    private let state = Locked(State())

    /// - Parameter others: The other sources, in the order in which they are tried.
    init(besides first: Mirror, of others: [Mirror], _ transport: MirroringTransport) {
        self.first = first
        self.transport = transport
        // Limits are those of an origin: a second mirror there would bring nothing.
        var origins = Set([try? HTTPURL(first.url).origin])
        mirrors = others.filter { origins.insert(try? HTTPURL($0.url).origin).inserted }
    }

    func sources(of request: TransferRequest) -> FurtherSources? {
        if mirrors.isEmpty { return nil }
        return FurtherSources(mirrors.map { request.addressed(to: $0.url, isAlone: false) }) { self.note($1, of: $0) }
    }

    /// The bytes that they have brought.
    var bytes: Int64 { state.withLock { $0.bytes } }
    /// Those that have brought some.
    var contributors: Set<String> { state.withLock { $0.contributors } }
    /// Those that bring no part any more: for good, and in this round.
    var aside: (forGood: Set<String>, lately: Set<String>) { state.withLock { ($0.unjoinable, $0.failed) } }

    private func note(_ event: FurtherSources.Event, of index: Int?) {
        let mirror = index.map { mirrors[$0] } ?? first
        switch event {
        case .putAside(let reason, let kind):
            state.withLock { state in
                if kind == .differs { state.unjoinable.insert(mirror.url) }
                // A slow one is better than none, and the first one's failure is the transfer's own.
                if kind == .failed, index != nil { state.failed.insert(mirror.url) }
            }
            transport.tell(.putAside(url: URLText.withoutUserinfo(mirror.url), reason: reason))
        case .ended(let bytes, let seconds, let hasFailed):
            state.withLock { state in
                state.bytes += bytes
                if bytes > 0 { state.contributors.insert(mirror.url) }
            }
            transport.rates.begin(mirror.url)
            transport.rates.end(mirror.url, bytes: bytes, seconds: seconds, failed: hasFailed)
        }
    }
}
