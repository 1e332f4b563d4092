internal import CImageCodec

extension ImageHeader {
    /// The number of frames; 1 for a still image.
    package var frameCount: Int { max(1, Int(description.frames)) }

    /// The number of frames that are read one after another.
    package var shownFrames: Int { isAnimated ? frameCount : 1 }

    /// The number of times that the frames are shown; 0: for ever.
    package var loops: Int { isAnimated ? Int(description.loops) : 1 }

    /// The time of all frames.
    package var duration: Duration { isAnimated ? .milliseconds(Int64(clamping: description.milliseconds)) : .zero }

    /// True if the file has several frames that are read.
    package var isAnimated: Bool {
        registered == nil && frameCount > 1 && (format == .gif || format == .webp)
    }

    /// A measure of the work of decoding all frames: the number of their pixels.
    package var pixelCountOfFrames: Int {
        let (count, isTooMany) = pixelCount.multipliedReportingOverflow(by: frameCount)
        return isTooMany ? .max : count
    }
}

extension DecodingLimits {
    /// - Throws: `limitExceeded` if a file has too many frames, too many pixels in all frames, or too long a duration.
    package func check(framesOf header: ImageHeader) throws(ImageCodecError) {
        guard header.isAnimated else { return }
        guard header.frameCount <= frames else {
            throw ImageCodecError(
                .limitExceeded, format: header.format, "\(header.frameCount) frames, of which \(frames) are allowed")
        }
        guard header.pixelCountOfFrames <= animationPixels else {
            throw ImageCodecError(
                .limitExceeded, format: header.format,
                "\(header.pixelCountOfFrames) pixels in \(header.frameCount) frames, more than \(animationPixels)")
        }
        let seconds = Double(header.description.milliseconds) / 1000
        guard seconds <= animationSeconds else {
            throw ImageCodecError(
                .limitExceeded, format: header.format, "an animation of \(seconds) s, more than \(animationSeconds) s")
        }
    }
}
