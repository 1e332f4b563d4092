import FoundationEssentials
import HTTPSemantics
import HTTPTypes

extension HTTPFields {
    /// Evaluates `If-Match`, or `If-Unmodified-Since` if there is no `If-Match` (RFC 9110 section 13.2.2, steps 1 and 2).
    ///
    /// - Parameters:
    ///   - tag: The present entity tag.
    ///   - modified: The time of the last change, if it is known.
    func arePreconditionsMet(by tag: EntityTag, modified: @autoclosure () -> Date?, at now: Date) -> Bool {
        let tags = self[values: .ifMatch]
        if !tags.isEmpty {
            switch EntityTagCondition(lines: tags) {
            case .any: return true
            case .tags(let tags): return tags.contains { $0.matchesStrongly(tag) }
            }
        }
        // Without both dates the condition is ignored (section 13.1.4).
        guard let limit = self[.ifUnmodifiedSince].flatMap({ HTTPDate.parse($0, now: now) }), let modified = modified()
        else { return true }
        return modified <= limit
    }
}
