import HTTPSemantics
import URLSigning

/// `/unsafe/10x20:300x200/fit-in/300x200/left/top/smart/filters:quality(70):format(webp)/PATH`, as thumbor and imagor have it.
struct ThumborURL {
    private let isImagor: Bool
    private var options = TranslatedOptions()
    private var fitsIn = false
    private var stretches = false
    /// `nil`: as the service does without a filter.
    private var enlarges: Bool?
    private var fill: String?
    /// The point of `focal`, which means something only where the image is cropped.
    private var focus: String?
    private var horizontal: String?
    private var vertical: String?

    private init(isImagor: Bool) { self.isImagor = isImagor }

    /// - Parameter text: The target after the signature.
    static func translated(_ text: Substring, isImagor: Bool) throws(ImageOptionError) -> String {
        var url = ThumborURL(isImagor: isImagor)
        let rest = try url.readOptions(text)
        guard !rest.isEmpty else {
            throw ImageOptionError(code: "bad-target", message: "An image's URL is /unsafe/OPTIONS/PATH.")
        }
        url.applyFit()
        return url.options.target(of: try url.original(rest))
    }

    // MARK: The original

    private func original(_ text: Substring) throws(ImageOptionError) -> String {
        if isImagor, text.hasPrefix("b64:") {
            let digits = text.dropFirst(4).utf8.filter { $0 != UInt8(ascii: "=") }
            guard let bytes = Base64.decodeURL(digits) else { throw .invalid("b64") }
            return String(decoding: bytes, as: UTF8.self)
        }
        // A URL that was encoded as a whole.
        let start = text.prefix(10).lowercased()
        guard start.hasPrefix("http%3a") || start.hasPrefix("https%3a") else { return String(text) }
        return String(decoding: PercentEncoding.decoded(text.utf8), as: UTF8.self)
    }

    // MARK: Options

    /// Reads the segments that are options, each in its place.
    ///
    /// - Returns: The rest.
    private mutating func readOptions(_ text: Substring) throws(ImageOptionError) -> Substring {
        var rest = text
        func next() -> Substring { rest.prefix { $0 != "/" } }
        func skip(_ segment: Substring) { rest = rest[segment.endIndex...].dropFirst() }
        for part in Part.allCases {
            let segment = next()
            guard segment.endIndex < rest.endIndex else { break }
            if part == .filters {
                guard rest.hasPrefix("filters:") else { continue }
                rest = try readFilters(rest.dropFirst("filters:".count))
            } else if try read(segment, as: part) {
                skip(segment)
            }
        }
        return rest
    }

    private enum Part: CaseIterable {
        case debug, meta, trim, crop, fitIn, stretch, size, padding, horizontal, vertical, smart, filters
    }

    /// Returns false if the segment is none of that part.
    private mutating func read(_ segment: Substring, as part: Part) throws(ImageOptionError) -> Bool {
        switch part {
        case .debug:
            guard segment == "debug" else { return false }
            throw .unsupported("debug", instead: "leave it out")
        case .meta:
            guard segment == "meta" else { return false }
            throw .unsupported("meta", instead: "use /image/info/PATH")
        case .trim:
            guard segment == "trim" || segment.hasPrefix("trim:") else { return false }
            let words = segment.split(separator: ":").dropFirst()
            guard !words.contains("bottom-right") else { throw .unsupported(segment, instead: "use trim:top-left") }
            options.set("trim", words.last { $0 != "top-left" } ?? (isImagor ? "1" : "0"))
        case .crop: return try readCrop(segment)
        case .fitIn:
            guard segment.hasSuffix("fit-in") else { return false }
            guard segment == "fit-in" else { throw .unsupported(segment, instead: "use fit-in") }
            fitsIn = true
        case .stretch:
            guard isImagor, segment == "stretch" else { return false }
            stretches = true
        case .size: return try readSize(segment)
        case .padding:
            guard isImagor, segment.contains(":"), Self.pair(segment.prefix { $0 != ":" }) != nil else { return false }
            throw .unsupported("padding", instead: "use padding=PIXELS of /image/, the same on all sides")
        case .horizontal:
            guard ["left", "center", "right"].contains(segment) else { return false }
            horizontal = String(segment)
        case .vertical:
            guard ["top", "middle", "bottom"].contains(segment) else { return false }
            vertical = String(segment)
        case .smart:
            guard segment == "smart" else { return false }
            options.set("gravity", "auto")
        case .filters: return false
        }
        return true
    }

    /// `AxB`, each side with or without a minus, which mirrors it.
    private static func pair(_ text: Substring) -> (Substring, Substring)? {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false)
        func isNumber(_ text: Substring) -> Bool {
            text.isEmpty || text == "orig" || text == "-" || number(text) != nil
        }
        guard parts.count == 2, parts.allSatisfy(isNumber) else { return nil }
        return (parts[0], parts[1])
    }

    /// A number of at most 15 decimal digits, with or without a sign and a fraction. `Double` also reads `nan`, `inf`, `0x10` and `1e300`.
    private static func number(_ text: Substring) -> Double? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text
        guard (1...16).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") })
        else { return nil }
        return Double(text)
    }

    private mutating func readCrop(_ segment: Substring) throws(ImageOptionError) -> Bool {
        let corners = segment.split(separator: ":", omittingEmptySubsequences: false)
        guard corners.count == 2, let first = Self.pair(corners[0]), let second = Self.pair(corners[1]) else {
            return false
        }
        let texts = [first.0, first.1, second.0, second.1]
        let numbers = texts.compactMap(Self.number)
        guard numbers.count == 4, numbers[2] > numbers[0], numbers[3] > numbers[1] else { throw .invalid("crop") }
        var (left, top, width, height) = (numbers[0], numbers[1], numbers[2] - numbers[0], numbers[3] - numbers[1])
        let areShares = texts.contains { $0.contains(".") } && numbers.allSatisfy { $0 <= 1 }
        if areShares { (left, top, width, height) = (left * 100, top * 100, width * 100, height * 100) }
        let parts = [left, top, width, height].map { number in
            areShares ? Self.hundredths(number) : String(Int(number.rounded()))
        }
        options.set("crop", parts.joined(separator: "x") + (areShares ? "p" : ""))
        return true
    }

    private mutating func readSize(_ segment: Substring) throws(ImageOptionError) -> Bool {
        guard let (width, height) = Self.pair(segment) else { return false }
        var flips = ""
        for (name, side, mirror) in [("width", width, "h"), ("height", height, "v")] {
            if side.hasPrefix("-") { flips += mirror }
            let digits = side.drop { $0 == "-" }
            guard digits != "orig" else { throw .unsupported("orig", instead: "leave that side out") }
            if !digits.isEmpty, digits != "0" { options.set(name, digits) }
        }
        if !flips.isEmpty { options.set("flip", flips) }
        return true
    }

    // MARK: Filters

    /// Reads `NAME(ARGUMENTS):NAME(ARGUMENTS)`; arguments may have slashes and colons.
    private mutating func readFilters(_ text: Substring) throws(ImageOptionError) -> Substring {
        var rest = text
        while let open = rest.firstIndex(of: "(") {
            var depth = 0
            let close = rest[open...].firstIndex { character in
                depth += character == "(" ? 1 : character == ")" ? -1 : 0
                return depth == 0
            }
            guard let close else { break }
            let name = rest[..<open]
            let arguments = rest[rest.index(after: open)..<close].split(
                separator: ",", omittingEmptySubsequences: false)
            try readFilter(name, arguments.map { Substring($0.filter { $0 != " " }) })
            rest = rest[close...].dropFirst()
            guard rest.first == ":" else { return rest.dropFirst() }
            rest = rest.dropFirst()
        }
        throw .invalid("filters")
    }

    private mutating func readFilter(_ name: Substring, _ given: [Substring]) throws(ImageOptionError) {
        func argument(_ index: Int = 0) -> Substring? {
            given.indices.contains(index) && !given[index].isEmpty ? given[index] : nil
        }
        /// A share in percent as a factor.
        func factor() throws(ImageOptionError) -> String {
            guard let percent = argument().flatMap(Self.number), percent >= -100 else { throw .invalid(name) }
            return Self.hundredths(1 + percent / 100)
        }
        switch name {
        case "quality": options.set("quality", argument() ?? "80")
        case "max_bytes":
            guard let bytes = argument() else { throw .invalid(name) }
            options.set("max-bytes", bytes)
        case "format":
            let format = argument()?.lowercased() ?? ""
            options.set("format", format == "jpg" ? "jpeg" : format)
        // They change neither size nor pixels here.
        case "autojpg", "strip_icc", "strip_exif", "strip_metadata": break
        case "no_upscale": enlarges = false
        case "upscale": enlarges = true
        case "stretch": stretches = true
        case "grayscale": options.set("gray", "1")
        case "blur":
            // The radius, and the standard deviation where it is another number. imagor's is half of what is given.
            let numbers = given.map { Self.number($0) }
            guard let radius = numbers.first ?? nil, numbers.count < 3, let last = numbers.last ?? nil else {
                throw .invalid(name)
            }
            try options.setBlur(last == 0 ? radius : last, times: isImagor ? 1 : 2, named: name)
        case "sharpen": options.set("sharpen", argument() ?? "1")
        case "brightness", "contrast": options.set(String(name), try factor())
        case "saturation": options.set("saturation", isImagor ? try factor() : String(argument() ?? "1"))
        case "rotate":
            // Both turn counter-clockwise, this service clockwise.
            guard let angle = argument().flatMap({ Int($0) }), angle % 90 == 0 else { throw .invalid(name) }
            options.set("rotate", (360 - angle % 360) % 360)
        case "round_corner", "round_corners":
            let radius = (argument() ?? "").split(separator: "|").first
            guard let radius else { throw .invalid(name) }
            options.set("radius", radius)
        case "fill":
            fill = argument().map { $0.lowercased() }
            guard fill != "auto", fill != "blur" else {
                throw .unsupported("fill(\(fill ?? ""))", instead: "use a colour")
            }
        case "background_color":
            guard let color = TranslatedOptions.color(given) else { throw .invalid(name) }
            options.set("background", color)
        case "focal":
            // Only the point; a region would need the size of the original.
            let point = (argument() ?? "").split(separator: "x")
            guard isImagor, point.count == 2,
                point.allSatisfy({ Self.number($0).map { (0...1).contains($0) } ?? false })
            else {
                throw .unsupported(name, instead: "use fp=X,Y of /image/")
            }
            focus = "\(point[0])x\(point[1])"
        case "page": options.set("frame", argument().flatMap { Int($0) }.map { max(1, $0) - 1 } ?? 0)
        case "max_frames":
            guard argument() == "1" else { throw .unsupported(name, instead: "use max_frames(1)") }
            options.set("anim", "0")
        case "watermark": throw .unsupported(name, instead: "use wm=NAME of /image/, with the setting watermarks")
        default:
            throw .unsupported(name, instead: "the options of /image/ are in the page Images of the documentation")
        }
    }

    /// A number with the two decimals that options have.
    private static func hundredths(_ number: Double) -> String {
        let rounded = (number * 100).rounded() / 100
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }

    // MARK: Fit

    /// Chooses the fit by what all options together say.
    private mutating func applyFit() {
        let (x, y) = (horizontal == "center" ? nil : horizontal, vertical == "middle" ? nil : vertical)
        if options.value(of: "gravity") == nil, x != nil || y != nil {
            options.set("gravity", [y, x].compactMap(\.self).joined(separator: "-"))
        }
        let sides = [options.value(of: "width"), options.value(of: "height")].count { $0 != nil }
        guard sides > 0 else { return }
        if fitsIn {
            if let fill, sides == 2 {
                options.set("fit", enlarges == true ? "pad" : "extend")
                if fill != "transparent" { options.set("background", fill) }
            } else if enlarges == true {
                options.set("fit", "contain")
            }
        } else if stretches, sides == 2 {
            options.set("fit", "fill")
        } else if sides == 2 {
            options.set("fit", enlarges == false ? "crop" : "cover")
            if let focus { options.set("fp", focus) }
        } else if enlarges != false {
            options.set("fit", "contain")
        }
    }
}
