import FoundationEssentials

/// The keys of a configuration file with their lines. JSONDecoder silently keeps one of several equal keys, and reports no lines.
struct SettingFileKeys {
    /// The keys of the enclosing objects, outermost first.
    typealias Path = [String]

    /// The line of each key's first occurrence, counted from 1.
    private(set) var lines: [Path: Int] = [:]
    /// The first duplicate key in the file's object or in an origin's object.
    private(set) var repeated: Path?

    /// - Parameter json: one valid JSON object (RFC 8259).
    init(_ json: some Sequence<UInt8>) {
        // The last key of each open object; nil for an array.
        var open: [String?] = []
        var isKey = false
        var text: [UInt8]?
        var textLine = 1
        var line = 1
        var isEscaped = false
        for byte in json {
            if byte == UInt8(ascii: "\n") { line += 1 }
            if let begun = text {
                text?.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    text = nil
                    guard isKey, !open.isEmpty else { continue }
                    isKey = false
                    open[open.count - 1] = (try? JSONDecoder().decode(String.self, from: Data(begun + [byte]))) ?? ""
                    note(open, textLine)
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): (text, textLine) = ([byte], line)
            case UInt8(ascii: "{"):
                open.append("")
                isKey = true
            case UInt8(ascii: "["):
                open.append(nil)
                isKey = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
            case UInt8(ascii: ","): isKey = open.last.map { $0 != nil } ?? false
            default: break
            }
        }
    }

    private mutating func note(_ open: [String?], _ line: Int) {
        let path = open.compactMap(\.self)
        guard path.count == open.count else { return }
        guard lines[path] == nil else {
            if repeated == nil, path.count == 1 || path.first == SettingFile.originsKey { repeated = path }
            return
        }
        lines[path] = line
    }
}
