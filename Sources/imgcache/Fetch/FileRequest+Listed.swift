import Digests
import DownloadLists
import ImageCache

extension FileRequest {
    /// This request for a download of a list.
    func getting(_ download: ListedDownload, requiresDigest: Bool, isQuiet: Bool) -> FileRequest {
        var request = self
        request.url = download.url
        if download.sources.count > 1 {
            request.mirrors = download.sources.map { Mirror($0.url, priority: $0.priority) }
        }
        request.usesAnnouncedMirrors = true
        request.integrity.digest = download.digest
        request.integrity.pieces = download.pieces
        request.integrity.size = download.size
        request.integrity.requiresDigest = requiresDigest
        request.integrity.asksForDigest = download.digest == nil && sha256 == nil
        for field in download.fields {
            if let name = HTTPField.Name(field.name) {
                request.fields.append(HTTPField(name: name, value: field.value))
            }
        }
        // A stored file with this digest is the requested file, regardless of its age.
        if download.digest?.algorithm.isCollisionResistant == true, policy == .useProtocolCachePolicy {
            request.policy = .returnCacheDataElseLoad
        }
        if !isQuiet { request.mirrorEvents = { Output.warning($0.text) } }
        return request
    }
}

extension ListedDownload {
    /// The SHA-256 that the list gives, in lower case.
    var sha256: String? { digests.first { $0.algorithm == .sha256 }?.hexadecimal }
}

extension MirrorEvent {
    fileprivate var text: String {
        switch self {
        case .putAside(let url, let reason): "\(url): \(reason); another mirror is asked"
        case .badPiece(let url, let index, let range):
            "\(url): piece \(index + 1) (bytes \(range.lowerBound)-\(range.upperBound - 1)) is damaged; it is fetched again"
        case .repairedPiece(let url, let index): "\(url): sent piece \(index + 1) right"
        }
    }
}
