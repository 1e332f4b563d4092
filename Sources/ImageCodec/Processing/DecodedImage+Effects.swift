internal import CImageCodec
internal import Glibc

extension DecodedImage {
    /// The image without colour: the luma of ITU-R BT.709.
    public func grayscaled() throws(ImageCodecError) -> DecodedImage {
        let gray = try PixelBuffer(byteCount: cost)
        icodec_desaturate(pixels.bytes, gray.bytes, width * height)
        return replacing(gray, width: width, height: height)
    }

    /// The image with a Gaussian blur.
    ///
    /// - Parameter sigma: The standard deviation in pixels; 0 changes nothing.
    /// - Throws: `invalidArgument` for a sigma below 0 or above 1000, `outOfMemory`.
    public func blurred(sigma: Double) throws(ImageCodecError) -> DecodedImage {
        guard sigma >= 0, sigma <= 1000 else { throw ImageCodecError(.invalidArgument, "a blur of \(sigma) pixels") }
        guard sigma > 0 else { return self }
        let soft = try PixelBuffer(byteCount: cost)
        guard icodec_blur(pixels.bytes, soft.bytes, UInt32(width), UInt32(height), sigma) else { throw .outOfMemory }
        return replacing(soft, width: width, height: height)
    }

    /// The image with corners rounded by circles, anti-aliased; what is cut off is transparent.
    ///
    /// - Parameter radius: In pixels; more than half of the shorter side counts as half of it.
    /// - Throws: `invalidArgument` for a radius below 0, `outOfMemory`.
    public func roundingCorners(radius: Double) throws(ImageCodecError) -> DecodedImage {
        guard radius >= 0 else { throw ImageCodecError(.invalidArgument, "a radius of \(radius) pixels") }
        let radius = min(radius, Double(min(width, height)) / 2)
        guard radius > 0 else { return self }
        let round = try PixelBuffer(byteCount: cost)
        memcpy(round.bytes, pixels.bytes, cost)
        let reach = Int(radius.rounded(.up))
        for y in 0..<reach {
            for x in 0..<reach {
                // How much of the pixel lies within the circle, by the distance of its centre.
                let distance = hypot(radius - Double(x) - 0.5, radius - Double(y) - 0.5)
                let share = min(max(radius - distance + 0.5, 0), 1)
                if share == 1 || Double(x) >= radius || Double(y) >= radius { continue }
                // A set: on a very small image corners meet in one pixel, which counts once.
                for place in Set([x, width - 1 - x].flatMap { x in [y, height - 1 - y].map { $0 * width + x } }) {
                    let alpha = round.bytes + place * 4 + 3
                    alpha.pointee = UInt8((Double(alpha.pointee) * share).rounded())
                    if alpha.pointee == 0 { memset(alpha - 3, 0, 3) }
                }
            }
        }
        return replacing(round, width: width, height: height, mayHaveAlpha: true)
    }

    /// The largest circle in the middle of the image, the rest of its square transparent.
    public func circled() throws(ImageCodecError) -> DecodedImage {
        let side = min(width, height)
        let square = try cropped(x: (width - side) / 2, y: (height - side) / 2, width: side, height: side)
        return try square.roundingCorners(radius: Double(side) / 2)
    }
}
