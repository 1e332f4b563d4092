import ImageCodec
import ImageEffects

extension ImageRecipe {
    /// The memory and work of the effects and the encoder.
    func footprint(of target: DecodingTarget, mayHaveAlpha: Bool) -> RenderingFootprint {
        var all = RenderingFootprint(width: target.width, height: target.height, mayHaveAlpha: mayHaveAlpha)
        for processor in processors { processor.add(to: &all) }
        var most = 0
        for encoder in output.encoders {
            let memory = encoder.memory(width: all.width, height: all.height, isOpaque: !all.mayHaveAlpha)
            // The encoded file is rarely this large.
            most = max(most, memory + all.area * (encoder.format == .png ? 4 : 2))
        }
        all.memory = max(all.memory, most)
        all.pixels += all.area
        return all
    }
}

extension ImageRecipe {
    /// The encoder for all frames of an original; nil if only one frame is rendered.
    func animationEncoder(for header: ImageHeader) -> ImageEncoder? {
        keepsAnimation && header.isAnimated ? output.animationEncoder : nil
    }

    /// The memory and work of the effects and the encoder for all frames.
    func footprint(
        of target: DecodingTarget, frames: Int, _ encoder: ImageEncoder
    ) -> RenderingFootprint {
        var all = RenderingFootprint(width: target.width, height: target.height, mayHaveAlpha: true)
        for processor in processors { processor.add(to: &all) }
        all.memory = max(all.memory, encoder.memory(ofAnimation: frames, width: all.width, height: all.height))
        all.pixels = (all.pixels + all.area) * frames
        return all
    }
}

extension ImageRecipe.Output {
    /// The possible encoders. Pixels are stored as PNG.
    var encoders: [ImageEncoder] {
        switch self {
        case .pixels: [.png(level: 1)]
        case .encoded(let encoder): [encoder]
        case .description: []
        case .likeOriginal(let options): [ImageEncoder(.jpeg(options)), .png()]
        case .avifIfLarge(let avif, let webP): [ImageEncoder(.avif(avif)), ImageEncoder(.webp(webP))]
        }
    }
}
