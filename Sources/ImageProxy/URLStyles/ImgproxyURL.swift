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
    static func translated(_ text: Substring) throws(ImageOptionError) -> URLStyle.Translation {
        var url = ImgproxyURL()
        var rest = text.split(separator: "/", omittingEmptySubsequences: false)[...]
        while let segment = rest.first, segment.contains(":"), !isSource(segment) {
            rest.removeFirst()
            let parts = segment.split(separator: ":", omittingEmptySubsequences: false)
            try url.read(parts[0], Array(parts.dropFirst()))
        }
        let original = try url.original(rest)
        try url.applyFit()
        return URLStyle.Translation(target: url.options.target(of: original), expiry: url.expiry)
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
        guard try !readFit(name, given), try !readPixels(name, given), try !readOutput(name, given) else { return }
        // They change neither size nor pixels here.
        let isWithoutEffect = [
            "cachebuster", "cb", "strip_color_profile", "scp", "keep_copyright", "kcr", "enforce_thumbnail", "eth",
            "filename", "fn",
        ].contains(name)
        guard isWithoutEffect else {
            throw .unsupported(name, instead: "the options of /image/ are in the page Images of the documentation")
        }
    }

    /// Reads an option about the size or the part that is kept; returns false for another one.
    private mutating func readFit(_ name: Substring, _ given: [Substring]) throws(ImageOptionError) -> Bool {
        let first = Self.argument(0, given)
        switch name {
        case "resize", "rs":
            if let first { try setFit(first) }
            try readSize(Array(given.dropFirst()))
        case "size", "s": try readSize(given)
        case "resizing_type", "rt": try setFit(first ?? "")
        case "width", "w": setSide("width", first)
        case "height", "h": setSide("height", first)
        case "dpr": options.set("dpr", first ?? "1")
        case "enlarge", "el": enlarges = Self.flag(0, given)
        case "extend", "ex":
            extends = Self.flag(0, given)
            if given.count > 1 { try setGravity(Array(given.dropFirst())) }
        case "gravity", "g": try setGravity(given)
        case "crop", "c": throw .unsupported(name, instead: "use crop=LEFTxTOPxWIDTHxHEIGHT of /image/, or rs:fill")
        case "zoom", "z", "min-width", "mw", "min-height", "mh":
            guard name.hasPrefix("z"), given.allSatisfy({ Double($0) == 1 }) else {
                throw .unsupported(name, instead: "use width and height, with dpr")
            }
        default: return false
        }
        return true
    }

    /// Reads an option that changes pixels; returns false for another one.
    private mutating func readPixels(_ name: Substring, _ given: [Substring]) throws(ImageOptionError) -> Bool {
        let first = Self.argument(0, given)
        switch name {
        case "trim", "t":
            guard let threshold = first.flatMap({ Double($0) }), (0...255).contains(threshold),
                given.dropFirst().allSatisfy({ $0.isEmpty || $0 == "0" })
            else { throw .unsupported(name, instead: "use t:THRESHOLD alone") }
            options.set("trim", Int(threshold))
        case "padding", "pd":
            let sides = given.filter { !$0.isEmpty }
            guard let side = sides.first, Set(sides).count == 1 else {
                throw .unsupported(name, instead: "use the same padding on all sides")
            }
            options.set("padding", side)
        case "auto_rotate", "ar":
            guard Self.flag(0, given) else { throw .unsupported(name, instead: "images are always upright") }
        case "rotate", "rot": options.set("rotate", first ?? "0")
        case "flip", "fl":
            let sides = (Self.flag(0, given) ? "h" : "") + (Self.flag(1, given) ? "v" : "")
            if !sides.isEmpty { options.set("flip", sides) }
        case "background", "bg":
            guard first != nil else { break }
            guard let color = TranslatedOptions.color(given) else { throw .invalid(name) }
            options.set("background", color)
        case "blur", "bl":
            // The standard deviation.
            try options.setBlur(Double(first ?? "") ?? 0, times: 2, named: name)
        case "sharpen", "sh": options.set("sharpen", first ?? "0")
        case "contrast", "co": options.set("contrast", first ?? "1")
        case "saturation", "sa": options.set("saturation", first ?? "1")
        case "brightness", "br": throw .unsupported(name, instead: "use brightness=FACTOR of /image/")
        case "watermark", "wm": throw .unsupported(name, instead: "use wm=NAME of /image/, with the setting watermarks")
        default: return false
        }
        return true
    }

    /// Reads an option about the file, or the URL; returns false for another one.
    private mutating func readOutput(_ name: Substring, _ given: [Substring]) throws(ImageOptionError) -> Bool {
        let first = Self.argument(0, given)
        switch name {
        case "strip_metadata", "sm": options.set("metadata", Self.flag(0, given) ? "none" : "keep")
        case "quality", "q":
            if let first, first != "0" { options.set("quality", first) }
        case "max_bytes", "mb":
            if let first, first != "0" { options.set("max-bytes", first) }
        case "format", "f", "ext": try setFormat(first ?? "")
        case "page", "pg": options.set("frame", first ?? "0")
        case "disable_animation", "da":
            if Self.flag(0, given) { options.set("anim", "0") }
        case "preset", "pr":
            guard given.count == 1, let first, options.preset == nil else {
                throw .unsupported(name, instead: "use one preset")
            }
            options.preset = String(first)
        case "expires", "exp":
            guard let time = first.flatMap({ Int64($0) }) else { throw .invalid(name) }
            expiry = time
        default: return false
        }
        return true
    }

    private static func argument(_ index: Int, _ given: [Substring]) -> Substring? {
        given.indices.contains(index) && !given[index].isEmpty ? given[index] : nil
    }

    private static func flag(_ index: Int, _ given: [Substring]) -> Bool {
        ["1", "t", "true", "T", "True", "TRUE"].contains(argument(index, given) ?? "")
    }

    private mutating func readSize(_ given: [Substring]) throws(ImageOptionError) {
        setSide("width", Self.argument(0, given))
        setSide("height", Self.argument(1, given))
        if Self.argument(2, given) != nil { enlarges = Self.flag(2, given) }
        if Self.argument(3, given) != nil { extends = Self.flag(3, given) }
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
    private mutating func applyFit() throws(ImageOptionError) {
        let sides = [options.value(of: "width"), options.value(of: "height")].count { $0 != nil }
        guard sides > 0 else { return }
        if sides == 2, fit == "fill" || fit == "fill-down" {
            // It keeps the proportions of the box for a small original, which no fit does.
            guard fit == "fill" || enlarges else { throw .unsupported("rt:fill-down", instead: "use fill") }
            options.set("fit", enlarges ? "cover" : "crop")
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
