/// How a stored image is turned to be seen, by Exif's numbers (CIPA DC-008, tag 0x0112). The names say where the stored top is.
public enum ImageOrientation: Int, Sendable, Hashable, CaseIterable {
    case up = 1
    /// Mirrored left to right.
    case upMirrored
    /// Turned by 180°.
    case down
    /// Mirrored top to bottom.
    case downMirrored
    /// Mirrored along the diagonal from the upper left.
    case leftMirrored
    /// To be turned by 90° clockwise.
    case right
    /// Mirrored along the other diagonal.
    case rightMirrored
    /// To be turned by 90° counterclockwise.
    case left

    /// Whether width and height change places.
    public var swapsSides: Bool { rawValue >= 5 }
}
