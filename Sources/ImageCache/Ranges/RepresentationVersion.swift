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
}
