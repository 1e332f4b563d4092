// Paths are bytes. A slash separates also where a combining mark follows it, with which it is one `Character`.

extension StringProtocol {
    /// The parts between the slashes, also the empty ones.
    package var pathParts: [SubSequence] {
        utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            self[$0.startIndex..<$0.endIndex]
        }
    }

    /// The places of the slashes.
    package var slashes: [Index] { utf8.indices.filter { utf8[$0] == UInt8(ascii: "/") } }

    /// The parts before and after the last slash, or `nil` if there is none.
    package var splitAtLastSlash: (folder: SubSequence, name: SubSequence)? {
        slashes.last.map { (self[..<$0], self[utf8.index(after: $0)...]) }
    }
}
