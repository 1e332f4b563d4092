import HTTPSemantics
import URLSigning

/// `/SIGNATURE/rs:fill:300:200/g:sm/plain/https://example.com/a.jpg@webp`, or with the URL in Base64.
struct ImgproxyURL {
    private var options = TranslatedOptions()
    private var fit = "fit"
    private var enlarges = false
    private var extends = false
    private var focus: String?
    private var expiry: Int64?

    /// - Parameter text: The target after the signature.
    /// - Returns: The image target of this service, and the time in seconds since 1970 until which it is valid.
    static func translated(_ text: Substring) throws(ImageOptionError) -> (String, expiry: Int64?) {
        var url = ImgproxyURL()
        var rest = text.split(separator: "/", omittingEmptySubsequences: false)[...]
        while let segment = rest.first, segment.contains(":"), !isSource(segment) {
            rest.removeFirst()
            let parts = segment.split(separator: ":", omittingEmptySubsequences: false)
            try url.read(parts[0], Array(parts.dropFirst()))
        }
        let original = try url.original(rest)
        url.applyFit()
        return (url.options.target(of: original), url.expiry)
    }

    /// True for the beginning of a URL that was not encoded.
    private static func isSource(_ segment: Substring) -> Bool {
        ["http:", "https:", "local:", "s3:", "gs:", "abs:"].contains { segment == $0 }
    }

    // MARK: The original

    private mutating func original(_ segments: ArraySlice<Substring>) throws(ImageOptionError) -> String {
        let text: Substring
        if segments.first == "plain" {
            var plain = segments.dropFirst().joined(separator: "/")[...]
            if let at = plain.lastIndex(of: "@"), !plain[at...].contains("/") {
                if plain.index(after: at) < plain.endIndex { try setFormat(plain[plain.index(after: at)...]) }
                plain = plain[..<at]
            }
            text = Self.text(Array(PercentEncoding.decoded(plain.utf8)))
        } else {
            guard segments.first != "enc" else { throw .unsupported("enc", instead: "use a URL that is not encrypted") }
            var encoded = segments.joined()[...]
            if let dot = encoded.lastIndex(of: ".") {
                try setFormat(encoded[encoded.index(after: dot)...])
                encoded = encoded[..<dot]
            }
            guard !encoded.isEmpty, let bytes = Base64.decodeURL(encoded.utf8.filter { $0 != UInt8(ascii: "=") }) else {
                throw ImageOptionError(
                    code: "bad-target",
                    message: "An image's URL is /SIGNATURE/OPTIONS/plain/URL, or has the URL in Base64.")
            }
            text = Self.text(bytes)
        }
        guard text.hasPrefix("local://") else { return String(text) }
        return String(text.dropFirst("local://".count))
    }

    private static func text(_ bytes: [UInt8]) -> Substring { String(decoding: bytes, as: UTF8.self)[...] }

    // MARK: Options

    private mutating func read(_ name: Substring, _ given: [Substring]) throws(ImageOptionError) {
        func argument(_ index: Int) -> Substring? {
            given.indices.contains(index) && !given[index].isEmpty ? given[index] : nil
        }
        func flag(_ index: Int = 0) -> Bool { ["1", "t", "true", "T", "True", "TRUE"].contains(argument(index) ?? "") }
        switch name {
        case "resize", "rs":
            if let type = argument(0) { try setFit(type) }
            try readSize(Array(given.dropFirst()))
        case "size", "s": try readSize(given)
        case "resizing_type", "rt": try setFit(argument(0) ?? "")
        case "width", "w": setSide("width", argument(0))
        case "height", "h": setSide("height", argument(0))
        case "dpr": options.set("dpr", argument(0) ?? "1")
        case "enlarge", "el": enlarges = flag()
        case "extend", "ex":
            extends = flag()
            if given.count > 1 { try setGravity(Array(given.dropFirst())) }
        case "gravity", "g": try setGravity(given)
        case "crop", "c": throw .unsupported(name, instead: "use crop=LEFTxTOPxWIDTHxHEIGHT of /image/, or rs:fill")
        case "trim", "t":
            guard let threshold = argument(0).flatMap({ Double($0) }),
                given.dropFirst().allSatisfy({ $0.isEmpty || $0 == "0" }),
                (0...255).contains(threshold)
            else { throw .unsupported(name, instead: "use t:THRESHOLD alone") }
            options.set("trim", Int(threshold))
        case "padding", "pd":
            let sides = given.filter { !$0.isEmpty }
            guard let first = sides.first, Set(sides).count == 1 else {
                throw .unsupported(name, instead: "use the same padding on all sides")
            }
            options.set("padding", first)
        case "auto_rotate", "ar":
            guard flag() else { throw .unsupported(name, instead: "images are always upright") }
        case "rotate", "rot": options.set("rotate", argument(0) ?? "0")
        case "flip", "fl":
            let sides = (flag(0) ? "h" : "") + (flag(1) ? "v" : "")
            if !sides.isEmpty { options.set("flip", sides) }
        case "background", "bg":
            guard given.contains(where: { !$0.isEmpty }) else { return }
            guard let color = TranslatedOptions.color(given) else { throw .invalid(name) }
            options.set("background", color)
        case "blur", "bl":
            let radius = Int((Double(argument(0) ?? "") ?? 0).rounded(.up).clamped(to: 0...250))
            if radius > 0 { options.set("blur", radius) }
        case "sharpen", "sh": options.set("sharpen", argument(0) ?? "0")
        case "contrast", "co", "saturation", "sa":
            options.set(name.hasPrefix("c") ? "contrast" : "saturation", argument(0) ?? "1")
        case "brightness", "br": throw .unsupported(name, instead: "use brightness=FACTOR of /image/")
        case "watermark", "wm": throw .unsupported(name, instead: "use wm=NAME of /image/, with the setting watermarks")
        case "strip_metadata", "sm": options.set("metadata", flag() ? "none" : "keep")
        case "quality", "q":
            if let quality = argument(0), quality != "0" { options.set("quality", quality) }
        case "format", "f", "ext": try setFormat(argument(0) ?? "")
        case "page", "pg": options.set("frame", argument(0) ?? "0")
        case "disable_animation", "da":
            if flag() { options.set("anim", "0") }
        case "preset", "pr":
            guard given.count == 1, let preset = argument(0), options.preset == nil else {
                throw .unsupported(name, instead: "use one preset")
            }
            options.preset = String(preset)
        case "expires", "exp":
            guard let time = argument(0).flatMap({ Int64($0) }) else { throw .invalid(name) }
            expiry = time
        case "zoom", "z", "min-width", "mw", "min-height", "mh":
            guard name.hasPrefix("z"), given.allSatisfy({ Double($0) == 1 }) else {
                throw .unsupported(name, instead: "use width and height, with dpr")
            }
        // They change neither size nor pixels here.
        case "cachebuster", "cb", "strip_color_profile", "scp", "keep_copyright", "kcr", "enforce_thumbnail", "eth",
            "filename", "fn":
            break
        default:
            throw .unsupported(name, instead: "the options of /image/ are in the page Images of the documentation")
        }
    }

    private mutating func readSize(_ given: [Substring]) throws(ImageOptionError) {
        func argument(_ index: Int) -> Substring? { given.indices.contains(index) ? given[index] : nil }
        setSide("width", argument(0))
        setSide("height", argument(1))
        if let enlarge = argument(2), !enlarge.isEmpty {
            enlarges = enlarge == "1" || enlarge == "t" || enlarge == "true"
        }
        if let extend = argument(3), !extend.isEmpty { extends = extend == "1" || extend == "t" || extend == "true" }
        if given.count > 4 { try setGravity(Array(given.dropFirst(4))) }
    }

    private mutating func setSide(_ name: String, _ value: Substring?) {
        if let value, !value.isEmpty, value != "0" { options.set(name, value) }
    }

    private mutating func setFit(_ type: Substring) throws(ImageOptionError) {
        guard ["fit", "fill", "fill-down", "force"].contains(type) else {
            throw .unsupported("rt:\(type)", instead: "use fit, fill, fill-down or force")
        }
        fit = String(type)
    }

    private mutating func setFormat(_ name: Substring) throws(ImageOptionError) {
        let formats = ["jpg": "jpeg", "jpeg": "jpeg", "png": "png", "webp": "webp", "avif": "avif", "gif": "gif"]
        guard let format = formats[name.lowercased()] else {
            throw .unsupported("format \(name)", instead: "use jpg, png, webp, avif or gif")
        }
        options.set("format", format)
    }

    private static let positions = [
        "no": "top", "so": "bottom", "ea": "right", "we": "left", "noea": "top-right", "nowe": "top-left",
        "soea": "bottom-right", "sowe": "bottom-left", "ce": "center", "sm": "auto",
    ]

    private mutating func setGravity(_ given: [Substring]) throws(ImageOptionError) {
        guard let type = given.first, !type.isEmpty else { return }
        if type == "fp" {
            guard given.count == 3 else { throw .invalid("gravity") }
            focus = "\(given[1])x\(given[2])"
            return
        }
        guard let position = Self.positions[String(type)],
            given.dropFirst().allSatisfy({ $0.isEmpty || Double($0) == 0 })
        else {
            throw .unsupported(
                "gravity", instead: "use no, so, ea, we, their corners, ce, sm or fp:X:Y, without offsets")
        }
        focus = nil
        options.set("gravity", position)
    }

    /// Chooses the fit by what all options together say.
    private mutating func applyFit() {
        let sides = [options.value(of: "width"), options.value(of: "height")].count { $0 != nil }
        guard sides > 0 else { return }
        if sides == 2, fit == "fill" || fit == "fill-down" {
            options.set("fit", enlarges && fit == "fill" ? "cover" : "crop")
            if let focus { options.set("fp", focus) }
        } else if sides == 2, fit == "force" {
            options.set("fit", "fill")
        } else if sides == 2, extends {
            options.set("fit", enlarges ? "pad" : "extend")
        } else if enlarges {
            options.set("fit", "contain")
        }
    }
}

extension Double {
    fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
        min(max(self, range.lowerBound), range.upperBound)
    }
}
