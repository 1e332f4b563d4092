/// The size to bring an image to, in the words of CSS `object-fit` and of the sharp library.
public struct ImageSizing: Sendable, Hashable {
    /// How an image of other proportions gets into the box.
    public enum Fit: String, Sendable, Hashable, CaseIterable {
        /// All of the image within the box; what it leaves free is filled with ``ImageSizing/background``.
        case contain
        /// The box is filled, what stands over is cut off; ``ImageSizing/position`` says which part stays.
        case cover
        /// Exactly the box, whatever the proportions.
        case fill
        /// As large as the box allows; the image keeps its proportions and nothing is added.
        case inside
        /// As small as covers the box; the image keeps its proportions and nothing is cut.
        case outside
    }

    /// Which part of the image `cover` keeps, and where `contain` puts it.
    public enum Position: Sendable, Hashable {
        case center, top, bottom, left, right, topLeft, topRight, bottomLeft, bottomRight
        /// Shares of what is left over, 0 … 1 from the left and from the top, as CSS `object-position` counts them.
        case at(x: Double, y: Double)
        /// `cover` only: the part with the most information (Shannon entropy of its luma).
        case entropy
        /// `cover` only: the part that draws the eye: edges, saturated colours, skin.
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

    /// The box, in CSS pixels. A side that is nil follows from the other and the image's proportions.
    public var width: Int?
    /// As ``width``, for the other side.
    public var height: Int?
    /// Default ``Fit/inside``.
    public var fit: Fit
    /// Default ``Position/center``.
    public var position = Position.center
    /// Whether an image smaller than the box is enlarged. Default false.
    public var allowsEnlargement = false
    /// Image pixels for one CSS pixel. Default 1.
    public var devicePixelRatio = 1.0
    /// What `contain` fills the rest of the box with; nil: transparent.
    public var background: Color?

    /// A box of which one side, or both, may be left open.
    ///
    /// - Parameters:
    ///   - width: In CSS pixels, at least 1; `nil`: follows from the height.
    ///   - height: In CSS pixels, at least 1; `nil`: follows from the width. Without either the image keeps its size.
    ///   - fit: How an image of other proportions gets into the box.
    public init(width: Int? = nil, height: Int? = nil, fit: Fit = .inside) {
        self.width = width
        self.height = height
        self.fit = fit
    }

    /// As large as fits into width × height, nothing added.
    public static func fit(_ width: Int, _ height: Int) -> ImageSizing {
        ImageSizing(width: width, height: height, fit: .inside)
    }

    /// Exactly width × height, cut where the proportions differ.
    public static func cover(_ width: Int, _ height: Int, position: Position = .center) -> ImageSizing {
        var sizing = ImageSizing(width: width, height: height, fit: .cover)
        sizing.position = position
        return sizing
    }
}
