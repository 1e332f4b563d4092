import DiskStore

extension DownloadCache {
    /// The state of a resource at an instant, for those who keep conclusions about it elsewhere.
    package struct ResourceState: Sendable {
        fileprivate let generation: Generation
    }

    /// The present state of a request's resource.
    package func state(of request: ImageRequest) -> ResourceState {
        ResourceState(generation: fetcher.store.generation(of: ResourceKey(request.file, by: fetcher.rules).url))
    }

    /// True if nothing of the resource has changed since, and it was not invalidated: a few atomic loads.
    package func isCurrent(_ state: ResourceState) -> Bool { fetcher.store.isCurrent(state.generation) }

    /// True if the resource was invalidated since; changes do not count.
    package func isInvalidated(since state: ResourceState) -> Bool { !fetcher.store.isCurrent(state.generation.epoch) }
}
