/// The state of the uploads of a body's parts, as a value without I/O.
///
/// A part is offered when all of its bytes are on disk. A limited number of parts is uploaded at once, in the order of the offers. A part whose
/// upload failed is the next to be started.
struct PartProgress: Sendable {
    private let width: Int
    /// The SHA-256 of each part that is in the store.
    private var digests: [[UInt8]?]
    private var waiting: [Int] = []
    private var isOffered: [Bool]
    private var running: Set<Int> = []
    private var remaining: Int
    /// The number of parts from the first one on that are in the store.
    private(set) var uploadedCount = 0

    /// - Parameters:
    ///   - digests: The SHA-256 of each part that is known to be in the store; `nil` for the others.
    ///   - width: The largest number of concurrent uploads.
    init(digests: [[UInt8]?], width: Int) {
        self.digests = digests
        self.width = max(1, width)
        isOffered = digests.map { $0 != nil }
        remaining = digests.count { $0 == nil }
        countUploaded()
    }

    /// The digests of all parts, if all parts are in the store; otherwise `nil`.
    var allDigests: [[UInt8]]? { remaining == 0 ? digests.compactMap { $0 } : nil }
    var known: [[UInt8]?] { digests }
    var hasAny: Bool { remaining < digests.count }

    /// Returns true if a part was offered already, or is in the store.
    func hasOffer(of index: Int) -> Bool { isOffered[index] }

    mutating func offer(_ index: Int) {
        guard !isOffered[index] else { return }
        isOffered[index] = true
        waiting.append(index)
    }

    /// The part to upload next; `nil` if there is none, or if the limit is reached. ``finished(_:digest:)`` or ``failed(_:)`` reports the end of
    /// the upload.
    mutating func next() -> Int? {
        guard running.count < width, !waiting.isEmpty else { return nil }
        let index = waiting.removeFirst()
        running.insert(index)
        return index
    }

    mutating func finished(_ index: Int, digest: [UInt8]) {
        guard running.remove(index) != nil, digests[index] == nil else { return }
        digests[index] = digest
        remaining -= 1
        countUploaded()
    }

    private mutating func countUploaded() {
        while uploadedCount < digests.count, digests[uploadedCount] != nil { uploadedCount += 1 }
    }

    /// Has no effect after ``finished(_:digest:)``.
    mutating func failed(_ index: Int) {
        if running.remove(index) != nil { waiting.insert(index, at: 0) }
    }
}
