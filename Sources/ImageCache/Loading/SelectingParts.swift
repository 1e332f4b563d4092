import HTTPTypes

/// The parts of a request that select a variant of a resource (RFC 9111 section 4.1), as the keys in memory compare them: the fields that
/// ``ResolvedRequest/sentFields(_:)`` is made of.
///
/// The fields of the transfer options are kept beside the others, so that a key costs no further array.
struct SelectingParts: Hashable, Sendable {
    /// As an array, because `HTTPFields` compares values as text, and values that are not valid UTF-8 may then be equal.
    private let fields: [HTTPField]
    private let userAgent: String?
    private let cookies: String?

    /// The parts of no request.
    init() {
        fields = []
        userAgent = nil
        cookies = nil
    }

    init(_ request: FileRequest) {
        fields = Array(request.fields)
        userAgent = request.transfer.userAgent
        cookies = ResolvedRequest.cookieFileState(of: request)
    }
}
