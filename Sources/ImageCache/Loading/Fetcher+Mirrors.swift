import Digests
import DiskStore
import HTTPSemantics
import Transfer

extension Fetcher {
    /// The transport for a request: one that asks its mirrors and verifies its pieces, if it has any.
    ///
    /// - Parameter notify: Receives what happens among the mirrors.
    func transport(
        for request: FileRequest, notify: @escaping @Sendable (MirrorEvent) -> Void
    ) -> any HTTPTransport {
        let integrity = request.integrity
        guard
            !request.mirrors.isEmpty || request.usesAnnouncedMirrors || integrity.pieces != nil || integrity.size != nil
        else { return transport }
        return MirroringTransport(
            base: transport, mirrors: request.mirrors, integrity: integrity, digest: request.expectedDigest,
            usesAnnouncedMirrors: request.usesAnnouncedMirrors, rates: originRates, signatures: rules.signatures,
            tell: notify)
    }
}

extension ResolvedRequest {
    /// The key of what has arrived of the body: only a GET continues what a GET has received.
    ///
    /// Bytes of several origins may stand in it where a digest proves the whole. So it is found by that digest alone: a request without
    /// it would continue it by the validator of one of them.
    var partialKey: EntryKey {
        guard isResumable else { return EntryKey(.unresumable(request.method, requestKey)) }
        guard !request.mirrors.isEmpty, request.isIdentifiedByDigest, let digest = request.expectedDigest else {
            return key
        }
        return EntryKey(.verified(digest, requestKey))
    }
}
