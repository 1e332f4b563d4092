import ConcurrencyPrimitives
import Logging
import RemoteStore

/// The work that nobody waits for: the probe at the start, and the invalidations by other machines.
extension RemoteCache {
    /// Begins to look at the store at intervals, unless the settings say otherwise; the task holds the cache only while it looks.
    func startWatching() {
        guard let interval = configuration.invalidationInterval else { return }
        let watch = Task { [weak self] in
            while !Task.isCancelled, let watched = self?.watchedOnce() {
                // One that is cancelled says so to the look, which ends with the request that it is at.
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

    /// Ends the looks; what the log says and was not carried out yet, the next process on the directory carries out.
    func stopWatching() async {
        guard let watch = state.withLock({ $0.watch }) else { return }
        watch.cancel()
        await watch.value
    }

    // MARK: The probe

    /// Finds out if a store that was left alone works again, when it is time for that: by a read of the object that was slow, or failed. Nobody
    /// may be asking for objects now, and news, uploads and invalidations wait.
    func tryAgain() async {
        let (isClosed, suspect) = state.withLock { ($0.breaker.isClosed, $0.suspect) }
        if isClosed { return }
        let name = suspect ?? RemoteBell.name
        _ = await reading(name, in: reads, counts: false, byteCount: { $0?.count ?? 0 }) {
            (tier) async throws(RemoteError) in try await tier.get(name)
        }
    }

    /// Finds out if the settings are right, and if the store honours conditions. A failure is told by the rules for all failures, and the
    /// next look tries again.
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

    // MARK: The log

    func tell(_ notice: RemoteNotices.Notice, _ error: RemoteError?) {
        var metadata = storeMetadata
        if notice != .closed { metadata["reason"] = "\(error?.description ?? "it is slow")" }
        switch (notice, error?.refusal) {
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
