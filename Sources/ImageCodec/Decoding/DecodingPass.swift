internal import CImageCodec
internal import Glibc

/// One of the images that one decode makes, with its budget.
package final class DecodingOutput {
    let sizing: ImageSizing?
    package let budget: ImageBudget
    /// Nil until the image is there, or why it cannot be.
    fileprivate(set) var result: Result<DecodedImage, ImageCodecError>?

    /// - Parameters:
    ///   - sizing: The size to bring the image to; nil: as it is stored.
    ///   - budget: What this image may cost. It is charged all of the decode, as if it were made alone.
    package init(_ sizing: ImageSizing?, _ budget: ImageBudget) {
        self.sizing = sizing
        self.budget = budget
    }

    /// Does a part of this output's own work; what goes wrong is its result.
    func attempt(_ work: () throws(ImageCodecError) -> Void) {
        guard result == nil else { return }
        do throws(ImageCodecError) { try work() } catch { result = .failure(error) }
    }

    func finish(_ make: () throws(ImageCodecError) -> DecodedImage) {
        guard result == nil else { return }
        do throws(ImageCodecError) { result = .success(try make()) } catch { result = .failure(error) }
    }

    /// The image, which is let go here.
    package func take() throws(ImageCodecError) -> DecodedImage {
        guard let result else { throw ImageCodecError(.failed, "no pixels") }
        self.result = .failure(ImageCodecError(.failed, "taken"))
        return try result.get()
    }

    fileprivate func fail(_ error: ImageCodecError) { if result == nil { result = .failure(error) } }
}

/// A decode and those it is done for. Each output gets the pixels, and each limit has the effect, that it would have alone.
struct DecodingPass {
    let outputs: [DecodingOutput]
    /// Stops the decode itself: when nobody is left who wants one of the outputs.
    let cancellation: ImageCancellation?

    /// Those that nothing has gone wrong with.
    var open: [DecodingOutput] { outputs.filter { $0.result == nil } }

    /// Does work that all outputs share. Each is charged its time; it goes on as long as one of them may.
    func shared<Result>(
        _ work: (inout icodec_watch) throws(ImageCodecError) -> Result
    ) throws(ImageCodecError) -> Result {
        let open = open
        guard let remaining = open.map(\.budget.remaining).max() else {
            throw ImageCodecError(.cancelled, "nobody wants the image")
        }
        let start = icodec_cpu_seconds()
        var watch = icodec_watch(deadline: start + remaining, stop: cancellation?.cFlag)
        defer {
            let time = icodec_cpu_seconds() - start
            for output in open { output.budget.charge(time) }
            withExtendedLifetime(cancellation) {}
        }
        try watch.check()
        return try work(&watch)
    }
}

extension ImageDecoder {
    /// Decodes a file once for several images. Their sizes must lead to the same ``DecodingTarget/scale``; each comes out bit for bit
    /// as ``decode(_:to:)`` makes it alone.
    ///
    /// - Parameters:
    ///   - cancellation: Stops the decode for all of them. One that its own budget's cancellation ends is left out of the rest.
    package func decode(_ source: ImageSource, _ outputs: [DecodingOutput], cancellation: ImageCancellation?) {
        let pass = DecodingPass(outputs: outputs, cancellation: cancellation)
        do throws(ImageCodecError) {
            if let decoder = try registeredDecoder(of: source) { return try decode(source, by: decoder, pass) }
            let format = try source.format()
            try limits.check(source, format: format)
            switch format {
            case .webp: try decodeWebP(source, pass)
            case .png: try source.lend { (lent) throws(ImageCodecError) in try decodePNG(lent, pass) }
            default: try source.lend { (lent) throws(ImageCodecError) in try decodeJPEG(lent, pass) }
            }
        } catch {
            for output in outputs { output.fail(error) }
        }
    }
}
