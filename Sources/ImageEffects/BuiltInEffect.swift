import ImageCodec

/// An effect of this package, which worker processes can apply too: one file in `Effects`, and one line in ``builtInEffects``.
protocol BuiltInEffect: ImageProcessing, WireCodable {
    /// Any effect of the type, which ``WireCodable/code(by:)`` replaces.
    init()

    /// Adds the memory and the work of the effect, and changes the size to that of its result.
    func add(to footprint: inout RenderingFootprint)
}

extension BuiltInEffect {
    func add(to footprint: inout RenderingFootprint) { footprint.addStep(self) }
}

/// A message to a worker names an effect by its position in this list. Both are of the same version.
let builtInEffects: [any BuiltInEffect.Type] = [
    AdjustEffect.self, BackgroundEffect.self, BitonalEffect.self, BlurEffect.self, CircleEffect.self,
    CropEffect.self, GrayscaleEffect.self, OrientEffect.self, PadEffect.self, RegionEffect.self, ResizeEffect.self,
    RoundedCornersEffect.self, SharpenEffect.self, TrimEffect.self, WatermarkEffect.self,
]
