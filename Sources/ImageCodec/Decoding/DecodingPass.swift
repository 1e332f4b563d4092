internal import CImageCodec
internal import Glibc

/// One of the images of a decode, with its budget.
package final class DecodingOutput {
    let sizing: ImageSizing?
    package let budget: ImageBudget
    /// The image or the error; nil before.
    fileprivate(set) var result: Result<DecodedImage, ImageCodecError>?

    /// - Parameters:
    ///   - sizing: The target size; nil: the stored one.
    ///   - budget: The image's budget, which is charged for the entire decode, as if the image were made alone.
    package init(_ sizing: ImageSizing?, _ budget: ImageBudget) {
        self.sizing = sizing
        self.budget = budget
    }

    /// Performs a part of this output's own work; an error becomes its result.
    func attempt(_ work: () throws(ImageCodecError) -> Void) {
        guard result == nil else { return }
        do throws(ImageCodecError) { try work() } catch { result = .failure(error) }
    }

    func finish(_ make: () throws(ImageCodecError) -> DecodedImage) {
        guard result == nil else { return }
        do throws(ImageCodecError) { result = .success(try make()) } catch { result = .failure(error) }
    }

    /// Returns and releases the image.
    package func take() throws(ImageCodecError) -> DecodedImage {
        guard let result else { throw ImageCodecError(.failed, "no pixels") }
        self.result = .failure(ImageCodecError(.failed, "taken"))
        return try result.get()
    }

    func fail(_ error: ImageCodecError) { if result == nil { result = .failure(error) } }
}

/// A decode and its outputs. Each output gets the same pixels, and each limit has the same effect, as if decoded alone.
struct DecodingPass {
    let outputs: [DecodingOutput]
    /// Stops the decode itself, when no output is needed any more.
    let cancellation: ImageCancellation?
    /// Keeps the decoded rows; nil: they are not kept.
    var collector: RowCollector?

    /// The outputs without an error.
    var open: [DecodingOutput] { outputs.filter { $0.result == nil } }

    func conversion(
        of header: ImageHeader, _ handling: ImageDecoder.ColorHandling
    ) throws(ImageCodecError) -> ColorConversion {
        try shared { (_) throws(ImageCodecError) in try ColorConversion(header, handling) }
    }

    /// Performs work shared by all outputs. Each is charged for it; it continues as long as one of them may.
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
    /// Decodes a file once for several images. Their sizes must have the same ``DecodingTarget/scale``. Each result is bit-identical to
    /// that of ``decode(_:to:)``.
    ///
    /// - Parameters:
    ///   - cancellation: Stops the whole decode. If an image's own budget is cancelled, only that image is dropped.
    ///   - collector: Keeps the rows, if the file is a complete JPEG.
    package func decode(
        _ source: ImageSource, _ outputs: [DecodingOutput], cancellation: ImageCancellation?,
        collecting collector: RowCollector? = nil
    ) {
        let pass = DecodingPass(outputs: outputs, cancellation: cancellation, collector: collector)
        do throws(ImageCodecError) {
            if frame != 0 { return try decodeFrame(of: source, pass) }
            if let decoder = try registeredDecoder(of: source) { return try decode(source, by: decoder, pass) }
            try source.decoding(limits).decoder.decode(source, pass, by: self)
        } catch {
            for output in outputs { output.fail(error) }
        }
    }
}
