import ConcurrencyPrimitives
import DiskStore
import Transfer

/// The sources of response bodies: the origins, and the mirrors of a request.
struct Sources: Sendable {
    private let client: any HTTPTransport
    private let executor: BlockingExecutor
    private let signatures: SignatureParameters
    /// The rates at which origins served mirrored requests.
    private let rates = OriginRates()

    init(_ configuration: DownloadCache.Configuration, store: DiskStore, executor: BlockingExecutor) {
        self.executor = executor
        client = configuration.transport ?? TransferEngine(configuration: .init(configuration, store: store))
        signatures = configuration.rules.signatures
    }

    /// The transport of one fetch, with the layers that the request needs.
    ///
    /// A body passes these layers in order, each only if the request needs it:
    /// 1. the HTTP client, or the transport of the request or of its origin;
    /// 2. the gate of the request's origin, which delays the start of a transfer and observes its outcome;
    /// 3. segments: several connections for a large body;
    /// 4. mirrors, and the verification of length, pieces and digest, which repairs a damaged piece from another mirror.
    func transport(for request: FileRequest, of fetch: Fetch) -> any HTTPTransport {
        let gate = request.transfer.gate?.gate
        let base = gate?.transport(for: request.url) ?? request.transport ?? client
        let gated: any HTTPTransport = gate.map { GatedTransport(base, by: $0) } ?? base
        let segmenting = SegmentingTransport(gated, on: executor)
        let integrity = request.integrity
        guard
            !request.mirrors.isEmpty || request.usesAnnouncedMirrors || integrity.pieces != nil || integrity.size != nil
        else { return segmenting }
        return MirroringTransport(
            base: segmenting, mirrors: request.mirrors, integrity: integrity, digest: request.expectedDigest,
            usesAnnouncedMirrors: request.usesAnnouncedMirrors, rates: rates, signatures: signatures,
            tell: { fetch.mirrorEvents.notify($0) })
    }

    var totals: TransferTotals { client.totals }

    func shutDown() async { await client.shutDown() }
}

extension TransferEngine.Configuration {
    fileprivate init(_ configuration: DownloadCache.Configuration, store: DiskStore) {
        self.init()
        maxTransfers = configuration.maxTransfers
        maxPerHost = configuration.maxTransfersPerHost
        adaptsToHosts = configuration.adaptsToHosts
        initialPerHost = configuration.initialTransfersPerHost
        maxStreams = configuration.maxStreamsPerHost
        maxIdleConnections = configuration.maxIdleConnections
        maxPerClient = configuration.maxTransfersPerClient
        maxRequestsPerSecond = configuration.maxRequestsPerSecond
        if configuration.sharesHostLimit {
            sharedHostLimit = SharedHostSlots(store: store, count: configuration.maxTransfersPerHost)
        }
        connections = configuration.connections
        addressPolicy = configuration.addressPolicy
        signatures = configuration.rules.resourceParameters
        now = configuration.now
    }
}
