import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// Stored responses that a new response replaces or makes invalid.
extension Fetcher {
    /// Removes the stored responses that the origin was asked to validate and that a stored body replaces (RFC 9111 section 4.3.3), including other
    /// variants, and the images made from them.
    ///
    /// - Returns: The file with the generation after the removal.
    func replace(_ conditional: ConditionalRequest, by file: CachedFile, _ resolved: ResolvedRequest) -> CachedFile {
        guard file.isStored, !conditional.candidates.isEmpty else { return file }
        let replaced = (conditional.validation?.candidates ?? []).map { conditional.candidates[$0].entry }
            .filter { $0.id != file.body.entry.id }
        var file = file
        let after = try? store.remove(
            replaced, and: EntryKey(.derivedImages(resolved.requestKey)), replacedIn: file.generation)
        if let after { file.generation = after }
        return file
    }

    /// Invalidates the stored responses for the URLs of a successful unsafe request (RFC 9111 section 4.4), and the images made from them, in the
    /// request's own namespace and in the shared one.
    ///
    /// - Parameter generation: The generation in which the request began.
    /// - Returns: The generation that the response to the request belongs to.
    func invalidate(after head: ResponseHead, _ resolved: ResolvedRequest, _ generation: Generation) -> Generation {
        invalidate(after: HTTPResponse(status: head.status, headerFields: head.fields), resolved, generation)
    }

    func invalidate(after response: HTTPResponse, _ resolved: ResolvedRequest, _ generation: Generation) -> Generation {
        var generation = generation
        for url in rules.urlsInvalidated(by: response, to: resolved.cacheRequest) {
            // A failure of the store is reported by the commit, which fails too.
            hotResponses.forget(url, of: resolved.request.owner)
            let requests = resolved.requestKeys(ofURL: url)
            remote?.invalidate(
                requests.map { EntryKey(.response($0)) }, url: rules.keyURL(of: url),
                allOwners: resolved.namespace != .shared)
            let wasCurrent = store.isCurrent(generation.epoch)
            _ = try? store.remove(requests.flatMap(\.removedKeys), invalidating: .resource(url))
            if wasCurrent { generation = store.generation(of: resolved.url) }
        }
        return generation
    }
}
