/// A frame of an animation, as displayed.
public struct AnimationFrame: Sendable {
    /// The frame, composed with those before it, in the requested size.
    public let image: DecodedImage
    /// The time for which it is shown. A GIF's of at most 10 ms is 100 ms, as browsers show it.
    public let duration: Duration

    package init(_ image: DecodedImage, for duration: Duration) {
        self.image = image
        self.duration = duration
    }
}
