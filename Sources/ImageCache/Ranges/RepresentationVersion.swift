import HTTPTypes

/// The version of a representation, as the validators and the length in its responses tell it.
struct RepresentationVersion: Equatable {
    private let entityTag: String?
    private let lastModified: String?
    private let length: Int64?

    /// - Parameter length: The length of the whole representation, if known.
    init(_ fields: HTTPFields, length: Int64?) {
        entityTag = fields[.eTag]
        lastModified = fields[.lastModified]
        self.length = length
    }

    /// A strong entity-tag is enough: servers that share files may have different dates of them.
    static func == (left: RepresentationVersion, right: RepresentationVersion) -> Bool {
        guard left.entityTag == right.entityTag, left.length == right.length else { return false }
        let isStrong = left.entityTag.flatMap { EntityTag($0) }?.isWeak == false
        return isStrong || left.lastModified == right.lastModified
    }
}
