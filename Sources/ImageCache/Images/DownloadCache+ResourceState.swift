import DiskStore

extension DownloadCache {
    /// The state of a resource at an instant, for callers that keep their own results.
    package struct ResourceState: Sendable {
        fileprivate let generation: Generation
    }

    /// The current state of a request's resource.
    package func state(of request: ImageRequest) -> ResourceState {
        ResourceState(generation: fetcher.store.generation(of: ResourceKey(request.file, by: fetcher.rules).url))
    }

    /// True if the resource was neither changed nor invalidated since. Costs a few atomic loads.
    package func isCurrent(_ state: ResourceState) -> Bool { fetcher.store.isCurrent(state.generation) }

    /// True if the resource was invalidated since. Changes do not count.
    package func isInvalidated(since state: ResourceState) -> Bool { !fetcher.store.isCurrent(state.generation.epoch) }
}
