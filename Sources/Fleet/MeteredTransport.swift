import ConcurrencyPrimitives
import HTTPTypes
import Transfer

/// Counts the requests of a transport.
struct MeteredTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let traffic: RemoteTraffic

    init(_ transport: any HTTPTransport, _ traffic: RemoteTraffic) {
        self.transport = transport
        self.traffic = traffic
    }

    func run(
        _ request: TransferRequest, into sink: any BodySink, events: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferResult {
        traffic.began(request)
        let result = try await transport.run(request, into: sink, events: events)
        traffic.received(result.bytesReceived)
        return result
    }

    var totals: TransferTotals { transport.totals }

    func shutDown() async { await transport.shutDown() }
}

/// The counts of requests to a remote store.
final class RemoteTraffic: Sendable {
    private let state = Locked(RemoteStatistics.Traffic())

    var counts: RemoteStatistics.Traffic { state.withLock { $0 } }

    func began(_ request: TransferRequest) {
        state.withLock { counts in
            switch request.method {
            case .put:
                counts.writes += 1
                counts.bytesWritten += Int64(request.body?.count ?? 0)
            case .delete: counts.deletions += 1
            case .get where request.url.contains("list-type="): counts.listings += 1
            default: counts.reads += 1
            }
        }
    }

    func received(_ bytes: Int64) { state.withLock { $0.bytesRead += bytes } }
}
