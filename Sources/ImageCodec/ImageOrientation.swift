/// The orientation of a stored image, with Exif's numbers (CIPA DC-008, tag 0x0112). The names indicate the position of
/// the stored top.
public enum ImageOrientation: Int, Sendable, Hashable, CaseIterable {
    case up = 1
    /// Mirrored horizontally.
    case upMirrored
    /// Rotated by 180°.
    case down
    /// Mirrored vertically.
    case downMirrored
    /// Mirrored along the diagonal from the upper left.
    case leftMirrored
    /// Must be rotated by 90° clockwise.
    case right
    /// Mirrored along the other diagonal.
    case rightMirrored
    /// Must be rotated by 90° counterclockwise.
    case left

    /// True if width and height are exchanged.
    public var swapsSides: Bool { rawValue >= 5 }
}
