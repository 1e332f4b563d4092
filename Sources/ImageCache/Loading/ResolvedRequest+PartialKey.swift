import Digests
import DiskStore
import HTTPTypes

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
