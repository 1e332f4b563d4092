/// A URL with ranges and alternatives, for `--expand`:
///
///     https://example.org/{train,test}/shard-[0000-0099].tar
///
/// * `[1-100]`, `[001-100]`, `[0-100:10]`: numbers, with the first one's leading zeros, and a step;
/// * `[a-f]`: letters;
/// * `{one,two}`: words.
///
/// The last one varies fastest. Other brackets, such as in an IPv6 address, stay as they are.
enum URLPattern {
    /// The largest number of URLs.
    static let most = 100_000

    /// The URLs of a pattern; `nil` if there are more than ``most``.
    static func urls(_ pattern: String) -> [String]? {
        var urls = [""]
        var rest = Substring(pattern)
        while let start = rest.firstIndex(where: { $0 == "[" || $0 == "{" }) {
            let close: Character = rest[start] == "[" ? "]" : "}"
            guard let end = rest[start...].firstIndex(of: close),
                let values = values(rest[rest.index(after: start)..<end], isSet: close == "}")
            else {
                urls = urls.map { $0 + rest[...start] }
                rest = rest[rest.index(after: start)...]
                continue
            }
            guard values.count <= most, values.count * urls.count <= most else { return nil }
            let before = rest[..<start]
            urls = urls.flatMap { url in values.map { url + before + $0 } }
            rest = rest[rest.index(after: end)...]
        }
        return urls.map { $0 + rest }
    }

    private static func values(_ text: Substring, isSet: Bool) -> [String]? {
        if isSet {
            let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            return words.count > 1 ? words : nil
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let step = parts.count == 2 ? Int(parts[1]) : 1, step > 0 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if let first = Int(ends[0]), let last = Int(ends[1]), first <= last, ends[0].first?.isNumber == true {
            // One more than the limit, so that the caller sees the excess.
            return stride(from: first, through: last, by: step).prefix(most + 1).map { number in
                let digits = String(number)
                return String(repeating: "0", count: max(0, ends[0].count - digits.count)) + digits
            }
        }
        guard let first = letter(ends[0]), let last = letter(ends[1]), first <= last else { return nil }
        return stride(from: first, through: last, by: step).map { String(UnicodeScalar($0)) }
    }

    private static func letter(_ text: Substring) -> UInt8? {
        guard text.utf8.count == 1, let byte = text.utf8.first, text.first?.isLetter == true else { return nil }
        return byte
    }
}
