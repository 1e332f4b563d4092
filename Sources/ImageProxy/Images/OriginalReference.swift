import HTTPSemantics
import ImageCache

/// The reference to an image's original in a response.
struct OriginalReference: Sendable, Equatable {
    /// The value of `Link` (RFC 8288): the original's URL as clients know it, or nil if the field cannot contain it.
    let link: String?
    /// The original's file name without its extension, or nil if there is none.
    private let stem: String?

    /// The greatest number of characters of a file name.
    private static let longest = 100

    /// - Parameter prefix: The beginning of the path that selects the origin.
    init(_ original: ImageTarget.Original, below prefix: PathPrefix = .root) {
        let text: String
        switch original {
        case .path(let path): text = prefix.text.dropLast() + path
        case .url(let url, _): text = url
        case .invalidURL:
            (link, stem) = (nil, nil)
            return
        }
        // A reference that begins with two slashes would name another host (RFC 3986 section 4.2).
        let isReference = !text.hasPrefix("//") && text.utf8.allSatisfy(Self.isInReference)
        link = isReference ? "<\(text)>; rel=\"canonical\"" : nil
        stem = Self.stem(text)
    }

    /// The value of `Content-Disposition` (RFC 6266) for a file of a media type.
    func disposition(_ mediaType: String) -> String {
        guard let stem else { return "inline" }
        let name = "\(stem).\(Self.fileExtension(mediaType))"
        guard !name.utf8.allSatisfy({ $0 < 0x80 }) else { return "inline; filename=\"\(name)\"" }
        let plain = String(name.map { $0.isASCII ? $0 : "_" })
        return "inline; filename=\"\(plain)\"; filename*=UTF-8''\(Self.encoded(name))"
    }

    private static func stem(_ url: String) -> String? {
        let path = url.prefix { $0 != "?" }
        // The authority of a URL is not a file name.
        guard let segment = path.split(separator: "/", omittingEmptySubsequences: false).last, segment != path else {
            return nil
        }
        var name = String(decoding: PercentEncoding.decoded(segment.utf8), as: UTF8.self)
        if let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 6 {
            name = String(name[..<dot])
        }
        name.unicodeScalars.removeAll { $0.isHidden || "\"\\/".unicodeScalars.contains($0) }
        return name.isEmpty ? nil : String(name.prefix(longest))
    }

    private static func fileExtension(_ mediaType: String) -> Substring {
        let type = mediaType.prefix { $0 != ";" }
        switch type {
        case "image/jpeg": return "jpg"
        case "text/plain": return "txt"
        default: return type.split(separator: "/").last?.prefix { $0 != "+" } ?? "bin"
        }
    }

    /// RFC 8187 section 3.2.1.
    private static func encoded(_ text: String) -> String {
        let bytes = text.utf8.reduce(into: [UInt8]()) { result, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                result.append(byte)
            default: PercentEncoding.append(byte, to: &result)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// True for visible ASCII characters that RFC 3986 allows in URLs.
    static func isInReference(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"<>\"\\^`{|}".utf8.contains(byte)
    }
}
