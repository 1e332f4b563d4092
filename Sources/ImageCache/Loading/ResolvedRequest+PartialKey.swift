import Digests
package import DiskStore
import HTTPTypes

extension ResolvedRequest {
    /// The key of the partial body. Only a GET resumes the partial of a GET.
    ///
    /// A partial may contain bytes of several origins if a digest proves the whole body. Then only requests with that digest find it: a request
    /// without the digest would resume it by the validator of one origin.
    package var partialKey: EntryKey {
        guard isResumable else { return EntryKey(.unresumable(request.method, requestKey)) }
        guard !request.mirrors.isEmpty, request.isIdentifiedByDigest, let digest = request.expectedDigest else {
            return key
        }
        return EntryKey(.verified(digest, requestKey))
    }
}
