import ConcurrencyPrimitives
import HTTPSemantics
import Transfer

/// The mirrors that may send parts of a body while another mirror sends it: at most one for each origin.
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
        // Rates are limited by origin, so a second mirror at the same origin would not help.
        var origins = Set([try? HTTPURL(first.url).origin])
        mirrors = others.filter { origins.insert(try? HTTPURL($0.url).origin).inserted }
    }

    func sources(of request: TransferRequest) -> FurtherSources? {
        if mirrors.isEmpty { return nil }
        return FurtherSources(mirrors.map { request.addressed(to: $0.url, isAlone: false) }) { self.note($1, of: $0) }
    }

    /// The number of bytes that these mirrors have sent.
    var bytes: Int64 { state.withLock { $0.bytes } }
    /// The URLs of the mirrors that have sent any bytes.
    var contributors: Set<String> { state.withLock { $0.contributors } }
    /// The mirrors that send no further parts: those with another representation, and those that failed in this round.
    var aside: (forGood: Set<String>, lately: Set<String>) { state.withLock { ($0.unjoinable, $0.failed) } }

    private func note(_ event: FurtherSources.Event, of index: Int?) {
        let mirror = index.map { mirrors[$0] } ?? first
        switch event {
        case .putAside(let reason, let kind):
            state.withLock { state in
                if kind == .differs { state.unjoinable.insert(mirror.url) }
                // A slow mirror may be tried again, and a failure of the first mirror is handled as a failure of the transfer.
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
