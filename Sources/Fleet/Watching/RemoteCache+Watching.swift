import ConcurrencyPrimitives
import Logging
import RemoteStore

/// Background work: the probe of the store at the start, and reading invalidations by other machines.
extension RemoteCache {
    /// Starts to read the store at intervals, if one is configured. The task retains the cache only while it reads.
    func startWatching() {
        guard let interval = configuration.invalidationInterval else { return }
        let watch = Task { [weak self] in
            while !Task.isCancelled, let watched = self?.watchedOnce() {
                // Cancellation is forwarded to the running read.
                await withTaskCancellationHandler {
                    await watched.value
                } onCancel: {
                    watched.cancel()
                }
                try? await Task.sleep(for: interval)
            }
        }
        state.withLock { $0.watch = watch }
    }

    private func watchedOnce() -> Task<Void, Never> {
        Task(executorPreference: executor) {
            await self.tryAgain()
            if self.state.withLock({ $0.conditions }) == nil { await self.probe() }
            await self.readNews()
        }
    }

    /// Stops reading the log. The next process that uses the directory applies the remaining invalidations.
    func stopWatching() async {
        guard let watch = state.withLock({ $0.watch }) else { return }
        watch.cancel()
        await watch.value
    }

    // MARK: The probe

    /// While the circuit is open and a probe is due, reads the object that failed or was slow, to find out whether the store has recovered.
    /// Otherwise the circuit could remain open if no objects are requested, and delay invalidations and uploads.
    func tryAgain() async {
        let (isClosed, suspect) = state.withLock { ($0.breaker.isClosed, $0.suspect) }
        if isClosed { return }
        let name = suspect ?? LogHead.name
        _ = await reading(name, in: reads, counts: false, byteCount: { $0?.count ?? 0 }) {
            (tier) async throws(RemoteError) in try await tier.get(name)
        }
    }

    /// Checks the settings, and finds out whether the store supports conditional uploads. Failures are logged like any others, and the next
    /// read tries again.
    private func probe() async {
        let outcome = await asking(counts: false) { (tier) async throws(RemoteError) in
            try await RemoteProbe(tier).outcome()
        }
        guard let outcome else { return }
        state.withLock { $0.conditions = outcome }
        guard outcome == .ignoresConditions else { return }
        logger.warning(
            "the remote store ignores If-None-Match: machines that miss at the same time all ask the origin",
            metadata: storeMetadata)
    }

    // MARK: Logging

    func tell(_ notice: RemoteNotices.Notice, _ error: RemoteError?) {
        var metadata = storeMetadata
        if notice != .closed { metadata["reason"] = "\(error?.description ?? "it is slow")" }
        switch (notice, error?.rejection) {
        case (.failed, .credentials?), (.opened, .credentials?):
            logger.warning("the remote store refuses the credentials; nothing is shared", metadata: metadata)
        case (.failed, .noBucket?), (.opened, .noBucket?):
            logger.warning("the remote store has no such bucket; nothing is shared", metadata: metadata)
        case (.failed, nil):
            logger.warning("the remote store has failed; the origin is asked instead", metadata: metadata)
        case (.opened, nil): logger.warning("the remote store is not asked for a while", metadata: metadata)
        case (.closed, _): logger.notice("the remote store is asked again", metadata: metadata)
        }
    }

    var storeMetadata: Logger.Metadata {
        ["endpoint": "\(configuration.location.endpoint)", "bucket": "\(configuration.location.bucket)"]
    }
}
