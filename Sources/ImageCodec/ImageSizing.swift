/// The target size of an image, in the terms of CSS `object-fit` and of the sharp library.
public struct ImageSizing: Sendable, Hashable {
    /// The way in which an image of other proportions is fitted into the box.
    public enum Fit: String, Sendable, Hashable, CaseIterable {
        /// The whole image within the box; the remaining area is filled with ``ImageSizing/background``.
        case contain
        /// The image fills the box, and is cropped; ``ImageSizing/position`` selects the part.
        case cover
        /// The exact size of the box, regardless of the proportions.
        case fill
        /// The largest size within the box; proportions are preserved and nothing is added.
        case inside
        /// The smallest size that covers the box; proportions are preserved and nothing is cropped.
        case outside
    }

    /// The part of the image that `cover` keeps, and the position of the image in the box of `contain`.
    public enum Position: Sendable, Hashable {
        case center, top, bottom, left, right, topLeft, topRight, bottomLeft, bottomRight
        /// Fractions of the remaining space, 0 … 1 from the left and from the top, as in CSS `object-position`.
        case at(x: Double, y: Double)
        /// A point of the image, 0 … 1 from the left and from the top: `cover` keeps the part in whose middle it is, as far as the edges
        /// allow. For `contain` as ``at(x:y:)``.
        case focus(x: Double, y: Double)
        /// `cover` only: the part with the most information (Shannon entropy of its luma).
        case entropy
        /// `cover` only: the most salient part: edges, saturated colours, skin.
        case attention
    }

    /// A colour without alpha, sRGB.
    public struct Color: Sendable, Hashable {
        /// 0 … 255, sRGB.
        public var red, green, blue: UInt8

        public init(red: UInt8, green: UInt8, blue: UInt8) {
            self.red = red
            self.green = green
            self.blue = blue
        }

        public static let white = Color(red: 255, green: 255, blue: 255)
        public static let black = Color(red: 0, green: 0, blue: 0)
    }

    /// The box, in CSS pixels. A missing side follows from the other one and the image's proportions.
    public var width: Int?
    /// As ``width``, for the other side.
    public var height: Int?
    /// Default ``Fit/inside``.
    public var fit: Fit
    /// Default ``Position/center``.
    public var position = Position.center
    /// True to enlarge images smaller than the box. Default false.
    public var allowsEnlargement = false
    /// The number of image pixels for one CSS pixel. Default 1.
    public var devicePixelRatio = 1.0
    /// The colour of the area that `contain` leaves free, and under transparent pixels there; nil: transparent.
    public var background: Color?

    /// A box of which one side may be left open.
    ///
    /// - Parameters:
    ///   - width: In CSS pixels, at least 1; `nil`: follows from the height.
    ///   - height: In CSS pixels, at least 1; `nil`: follows from the width. A box without either is an error.
    ///   - fit: How an image of other proportions gets into the box.
    public init(width: Int? = nil, height: Int? = nil, fit: Fit = .inside) {
        self.width = width
        self.height = height
        self.fit = fit
    }

    /// The largest size within width × height, nothing added.
    public static func fit(_ width: Int, _ height: Int) -> ImageSizing {
        ImageSizing(width: width, height: height, fit: .inside)
    }

    /// Exactly width × height, cropped if the proportions differ.
    public static func cover(_ width: Int, _ height: Int, position: Position = .center) -> ImageSizing {
        var sizing = ImageSizing(width: width, height: height, fit: .cover)
        sizing.position = position
        return sizing
    }
}

extension ImageSizing {
    /// A text that identifies the sizing.
    package var recipe: String {
        let box = "\(width.map(String.init) ?? "")x\(height.map(String.init) ?? "")"
        var text = "\(box),\(fit.rawValue)"
        if position != .center { text += ",at=\(position)" }
        if allowsEnlargement { text += ",enlarge" }
        if devicePixelRatio != 1 { text += ",dpr=\(devicePixelRatio)" }
        if let background { text += ",on=\(background.recipe)" }
        return text
    }
}

extension ImageSizing.Color {
    package var recipe: String { "\(red).\(green).\(blue)" }
}
