import FoundationEssentials

/// The keys of a configuration file's object. JSONDecoder silently keeps one of several equal ones.
enum SettingFileKeys {
    /// The first key that occurs more than once.
    ///
    /// - Parameter json: one valid JSON object (RFC 8259).
    static func repeated(in json: some Sequence<UInt8>) -> String? {
        var seen: Set<String> = []
        var depth = 0
        var isKey = false
        var text: [UInt8]?
        var isEscaped = false
        for byte in json {
            if let begun = text {
                text?.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    text = nil
                    guard depth == 1, isKey else { continue }
                    isKey = false
                    let key = (try? JSONDecoder().decode(String.self, from: Data(begun + [byte]))) ?? ""
                    guard seen.insert(key).inserted else { return key }
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): text = [byte]
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                isKey = depth == 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ","): isKey = depth == 1
            default: break
            }
        }
        return nil
    }
}
