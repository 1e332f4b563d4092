/// The value of `If-None-Match` or `If-Match` (RFC 9110 sections 13.1.1 and 13.1.2).
package enum EntityTagCondition {
    /// `*`: any current representation.
    case any
    case tags([EntityTag])

    /// The members of all lines; anything but an entity tag is ignored. Commas may occur inside tags, and a backslash
    /// escapes nothing, so this is not a list of quoted strings.
    package init(lines: [String]) {
        var tags: [EntityTag] = []
        var isAny = false
        for line in lines {
            var line = line
            line.withUTF8 { bytes in
                if bytes[...].trimmed.elementsEqual([UInt8(ascii: "*")]) { isAny = true }
                var index = 0
                while index < bytes.count {
                    // One member: up to the comma that follows its closing quote.
                    let start = index
                    while index < bytes.count, bytes[index] != UInt8(ascii: ","), bytes[index] != UInt8(ascii: "\"") {
                        index += 1
                    }
                    if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
                        index += 1
                        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") { index += 1 }
                        index += 1
                        while index < bytes.count, bytes[index] != UInt8(ascii: ",") { index += 1 }
                    }
                    if let tag = EntityTag(bytes[start..<min(index, bytes.count)]) { tags.append(tag) }
                    index += 1
                }
            }
        }
        self = isAny ? .any : .tags(tags)
    }

    /// Returns true if the condition contains the current representation's tag, or is `*` (RFC 9110 section 13.1.2).
    package func matchesWeakly(_ tag: EntityTag?) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tag.map { tag in tags.contains { $0.matchesWeakly(tag) } } ?? false
        }
    }
}
