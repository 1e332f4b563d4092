/// `/cdn-cgi/image/OPTIONS/PATH`. The options of this service have Cloudflare's names, so that few differ.
enum CloudflareURL {
    private static let pathPrefix = "/cdn-cgi/image/"

    static func translated(_ target: String) throws(ImageOptionError) -> String? {
        guard target.hasPrefix(pathPrefix) else { return nil }
        let rest = target.dropFirst(pathPrefix.count)
        guard let slash = rest.firstIndex(of: "/") else {
            throw ImageOptionError(code: "bad-target", message: "An image's URL is /cdn-cgi/image/OPTIONS/PATH.")
        }
        var members: [Substring] = []
        for member in rest[..<slash].split(separator: ",") {
            if let own = try own(member) { members.append(own) }
        }
        let options = members.isEmpty ? "format=auto" : members.joined(separator: ",")
        return Router.imagePrefix + options + rest[slash...]
    }

    /// The same option here; nil for one that changes nothing.
    private static func own(_ member: Substring) throws(ImageOptionError) -> Substring? {
        let parts = member.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else { return member }
        switch (parts[0], parts[1]) {
        case ("format", "baseline-jpeg"), ("f", "baseline-jpeg"): return "format=jpeg"
        case ("format", "json"), ("f", "json"): throw .unsupported("format=json", instead: "use /image/info/PATH")
        case ("metadata", "copyright"): return "metadata=none"
        case ("gravity", "face"), ("g", "face"): throw .unsupported("gravity=face", instead: "use gravity=auto")
        case ("compression", _): return nil
        case ("onerror", _): throw .unsupported("onerror", instead: "use the setting fallback-image")
        case ("slow-connection-quality", _), ("scq", _):
            throw .unsupported(parts[0], instead: "use the setting client-hints, for Save-Data")
        case ("border", _): throw .unsupported("border", instead: "use padding and background")
        case ("gamma", _): throw .unsupported("gamma", instead: "use brightness and contrast")
        case ("zoom", _): throw .unsupported("zoom", instead: "it has another meaning here; use fp and zoom of /image/")
        case ("trim", _), ("segment", _):
            throw .unsupported(parts[0], instead: "use crop=LEFTxTOPxWIDTHxHEIGHT, or trim of /image/")
        case ("quality", let value) where value.contains { $0.isLetter },
            ("q", let value) where value.contains { $0.isLetter }:
            throw .unsupported("quality=\(value)", instead: "use quality=1 to 100")
        default: return member
        }
    }
}
