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
                await watched.value
                try? await Task.sleep(for: interval)
            }
        }
        state.withLock { $0.watch = watch }
    }

    /// One look, which a cancellation of the watch lets come to its end: each request has a limit of time.
    private func watchedOnce() -> Task<Void, Never> {
        Task(executorPreference: executor) {
            if self.state.withLock({ $0.conditions }) == nil { await self.probe() }
            await self.readNews()
        }
    }

    func stopWatching() async {
        let watch = state.withLock { $0.watch }
        watch?.cancel()
        await watch?.value
    }

    // MARK: The probe

    /// Finds out if the settings are right, and if the store honours conditions. A failure is told by the rules for all failures, and the
    /// next look tries again.
    private func probe() async {
        guard mayAsk(counts: false) else { return }
        let began = ContinuousClock.now
        do throws(RemoteError) {
            let outcome = try await RemoteProbe(tier).outcome()
            watched(after: .now - began)
            state.withLock { $0.conditions = outcome }
            guard outcome == .ignoresConditions else { return }
            logger.warning(
                "the remote store ignores If-None-Match: machines that miss at the same time all ask the origin",
                metadata: storeMetadata)
        } catch {
            note(error, after: .now - began)
        }
    }

    /// A look has succeeded: that ends an outage, and says nothing of requests for objects, which are larger.
    func watched(after time: Duration) {
        if !state.withLock({ $0.breaker.isClosed }) { responded(after: time) }
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
