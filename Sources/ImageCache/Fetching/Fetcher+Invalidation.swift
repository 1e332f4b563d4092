import DiskStore
import HTTPCaching
import HTTPSemantics
import HTTPTypes
import Transfer

/// Stored responses that a new response replaces or makes invalid.
extension Fetcher {
    /// A stored body takes the place of what the origin was asked about (RFC 9111 section 4.3.3), also when it is another
    /// variant, and what was made of an original that is no more must not lie around.
    ///
    /// - Returns: The file, in the generation that it then stands for.
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

    /// An unsafe request that worked makes what is stored for its URL invalid (RFC 9111 section 4.4), and what was made of that:
    /// the asker's own, and what is everybody's.
    ///
    /// - Parameter generation: the one that the request began in.
    /// - Returns: The generation that its own response belongs to.
    @discardableResult
    func invalidate(after head: ResponseHead, _ resolved: ResolvedRequest, _ generation: Generation) -> Generation {
        invalidate(after: HTTPResponse(status: head.status, headerFields: head.fields), resolved, generation)
    }

    @discardableResult
    func invalidate(after response: HTTPResponse, _ resolved: ResolvedRequest, _ generation: Generation) -> Generation {
        var generation = generation
        for url in rules.urlsInvalidated(by: response, to: resolved.cacheRequest) {
            // A store that fails here fails the commit as well, and says so there.
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
