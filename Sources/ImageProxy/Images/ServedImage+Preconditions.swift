import FoundationEssentials
import HTTPSemantics
import HTTPServer
import HTTPTypes
import ImageCache

extension ServedImage {
    /// Evaluates `If-Match`, or `If-Unmodified-Since` if there is no `If-Match` (RFC 9110 section 13.2.2, steps 1 and 2).
    func meetsPreconditions(_ fields: HTTPFields, at now: Date) -> Bool {
        let tags = fields[values: .ifMatch]
        if !tags.isEmpty {
            switch EntityTagCondition(lines: tags) {
            case .any: return true
            case .tags(let tags): return tags.contains { $0.matchesStrongly(thumbnail.entityTag) }
            }
        }
        // Without both dates the condition is ignored (section 13.1.4).
        guard let limit = fields[.ifUnmodifiedSince].flatMap({ HTTPDate.parse($0, now: now) }),
            let modified = thumbnail.lastModified.flatMap({ HTTPDate.parse($0, now: now) })
        else { return true }
        return modified <= limit
    }

    /// The response to a request whose precondition failed.
    var preconditionFailure: Response {
        .failure(
            412, "precondition", "The image is another one than the request is for.",
            fields: [.eTag: thumbnail.entityTag.text])
    }

    /// The image pixels per CSS pixel, or nil if the requested ratio was 1.
    ///
    /// An image that is not enlarged may have fewer pixels than requested.
    var contentPixelRatio: Double? {
        let (options, ratio) = (operation.options, operation.options.devicePixelRatio)
        guard thumbnail.isImage, ratio != 1 || operation.hintNames.contains("Sec-CH-DPR") else { return nil }
        let shares = [(options.width, thumbnail.width), (options.height, thumbnail.height)].compactMap { side, pixels in
            side.map { Double(pixels) / Double($0) }
        }
        guard let most = shares.max() else { return 1 }
        return min(max(most, min(1, ratio)), max(1, ratio))
    }
}

extension Thumbnail {
    fileprivate var isImage: Bool { format.mediaType.hasPrefix("image/") }
}
