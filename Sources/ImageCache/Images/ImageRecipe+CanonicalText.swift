import Digests

/// Describes a recipe for people: "256 × 192, fit inside, JPEG quality 80".
extension ImageRecipe {
    /// - Parameter text: An ``ImageRecipe/text``; unknown parts are kept unchanged.
    static func words(_ text: String) -> String {
        var parts = parts(text)
        guard !parts.isEmpty else { return text }
        let output = parts.count > 1 ? parts.removeLast() : nil
        var words = sizing(parts.removeFirst())
        // All formats with animations have this part, even for still originals.
        words += parts.filter { $0 != "animated" }.map(step)
        if let output { words += encoder(output) }
        return words.joined(separator: ", ")
    }

    private static func parts(_ text: String) -> [String] {
        var rest = text.utf8[...]
        var parts: [String] = []
        while let colon = rest.firstIndex(of: UInt8(ascii: ":")), let count = Int(Substring(rest[..<colon])),
            let end = rest.index(rest.index(after: colon), offsetBy: count, limitedBy: rest.endIndex)
        {
            parts.append(String(Substring(rest[rest.index(after: colon)..<end])))
            rest = rest[end...].dropFirst()
        }
        return parts
    }

    private static func sizing(_ text: String) -> [String] {
        // A position may hold commas: at(x: 0.5, y: 0.25).
        let members = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let sides = members[0].split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, members.count > 1 else { return text == "whole" ? ["original size"] : [text] }
        let box =
            sides[1].isEmpty ? "\(sides[0]) wide" : sides[0].isEmpty ? "\(sides[1]) high" : "\(sides[0]) × \(sides[1])"
        return [box, "fit \(members[1])"]
            + members.dropFirst(2).map { member in
                let (name, value) = pair(member)
                return switch name {
                case "at": "position \(value)"
                case "enlarge": "enlarged"
                case "dpr": "\(number(value)) pixels for one"
                case "on": "on \(color(value))"
                default: member
                }
            }
    }

    private static func step(_ text: String) -> String {
        switch text {
        case "truncated": "also truncated"
        case "profile": "profile kept"
        case "metadata": "metadata kept"
        case "unturned": "not turned"
        case "linear": "linear light"
        default:
            if text.hasPrefix("frame=") {
                "frame \(text.dropFirst(6))"
            } else if text.hasPrefix("decoder=") {
                "decoded by \(text.dropFirst(8))"
            } else if  // blur(2.5), corners(12.0)
            text.hasSuffix(")"), let open = text.firstIndex(of: "("), !text.hasPrefix("resize") {
                "\(text[..<open]) \(values(text[text.index(after: open)...].dropLast()))"
            } else {
                text
            }
        }
    }

    private static func encoder(_ text: String) -> [String] {
        var members = text.split(separator: ",").map(String.init)
        var words: [String] = []
        if members.first == "like" {
            words.append("format of the original")
            members.removeFirst()
        }
        if members.first == "large" { return ["AVIF if large, else WebP"] }
        guard let format = members.first else { return [text] }
        let options = Dictionary(members.dropFirst().map(pair)) { first, _ in first }
        let quality = options["q"].map { "quality \(number($0))" } ?? ""
        switch format {
        case "jpeg": words.append("JPEG \(quality)")
        case "png": words.append(options["level"].map { $0 == "6" ? "PNG" : "PNG level \($0)" } ?? "PNG")
        case "avif": words.append("AVIF \(quality)")
        case "gif": words.append(options["colors"].map { $0 == "256" ? "GIF" : "GIF of \($0) colours" } ?? "GIF")
        case "webp": words.append(options["lossless"] == nil ? "WebP \(quality)" : "lossless WebP")
        case "pixels": words.append("pixels")
        case let custom where custom.hasPrefix("encoder="): return words + ["encoded by \(identity(text.dropFirst(8)))"]
        default: words.append(text)
        }
        if options["progressive"] != nil { words.append("progressive") }
        if options["none444"] != nil { words.append("full chroma") }
        if options["plain"] != nil { words.append("not dithered") }
        if let bytes = options["max"] { words.append("at most \(bytes) bytes") }
        if let background = options["on"] { words.append("on \(color(background))") }
        return words
    }

    /// The identity in `3:PPM,pixmap-1`: an application's encoder, after its format.
    private static func identity(_ text: Substring) -> Substring {
        guard let format = parts(String(text)).first else { return text }
        let start = "\(format.utf8.count):\(format),"
        return text.hasPrefix(start) ? text.dropFirst(start.count) : text
    }

    private static func pair(_ member: String) -> (String, String) {
        guard let equals = member.firstIndex(of: "=") else { return (member, "") }
        return (String(member[..<equals]), String(member[member.index(after: equals)...]))
    }

    /// The parameters of an effect.
    private static func values(_ text: Substring) -> String {
        text.split(separator: ",").map { number(color($0)) }.joined(separator: ",")
    }

    /// Removes a fraction of zero.
    private static func number(_ text: some StringProtocol) -> String {
        text.hasSuffix(".0") ? String(text.dropLast(2)) : String(text)
    }

    /// Converts 255.204.0 to #ffcc00.
    private static func color(_ text: some StringProtocol) -> String {
        let parts = text.split(separator: ".").compactMap { UInt8($0) }
        guard parts.count == 3 else { return String(text) }
        return "#" + parts.hexadecimal
    }
}
