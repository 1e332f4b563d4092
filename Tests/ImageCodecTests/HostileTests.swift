import Testing

@testable import ImageCodec

/// Broken and malicious files: a typed error or an image.
@Suite struct HostileTests {
    @Test(arguments: Corpus.shared.files("hostile", []))
    func `a hostile file gives an error or an image, as its manifest asks`(_ file: Corpus.File) throws {
        let source = try Corpus.shared.source(file.path)
        let whole = outcome(ImageDecoder(), source, nil)
        let small = outcome(ImageDecoder(), source, .fit(64, 64))
        var patient = ImageDecoder()
        patient.allowTruncated = true
        let partial = outcome(patient, source, nil)
        _ = try? ImageInfo.read(source)
        // A refused file is refused at every size, and not only by the time limit.
        #expect((whole == nil) == (small == nil))
        #expect(whole != nil || partial == nil)
        let isRead =
            file.format == nil || file.format.map { ["jpeg", "png", "webp", "gif", "avif"].contains($0) } == true
        switch file.expect {
        case "reject": #expect(whole != nil && partial != nil)
        case "accept" where isRead: #expect(whole == nil, "\(whole.map { "\($0)" } ?? "")")
        case "accept": #expect(whole?.code == .unsupportedFormat)
        default: break
        }
    }

    @Test(arguments: Corpus.shared.files("hostile", []))
    func `a hostile animation gives frames or an error`(_ file: Corpus.File) throws {
        let source = try Corpus.shared.source(file.path)
        let still = outcome(ImageDecoder(), source, .fit(64, 64))
        do throws(ImageCodecError) {
            let made = try ImageEncoder.webp().thumbnail(of: source, .fit(64, 64), ImageDecoder(), keepsAnimation: true)
            let info = try ImageInfo.read(ImageSource(made.bytes))
            #expect(info.width == made.width && info.height == made.height && max(made.width, made.height) <= 64)
            #expect(still == nil)
        } catch {
            #expect(!error.reason.isEmpty)
            // A file of one frame is what it is without the others.
            let frames = (try? ImageInfo.read(source))?.frames ?? 1
            #expect(still != nil || frames > 1, "\(error)")
        }
    }

    private func outcome(_ decoder: ImageDecoder, _ source: ImageSource, _ sizing: ImageSizing?) -> ImageCodecError? {
        do throws(ImageCodecError) {
            let image: DecodedImage
            if let sizing { image = try decoder.decode(source, to: sizing) } else { image = try decoder.decode(source) }
            #expect(image.width > 0 && image.height > 0 && image.withUnsafeBytes { $0.count } == image.cost)
            return nil
        } catch {
            #expect(!error.reason.isEmpty)
            return error
        }
    }

    @Test(arguments: ["jpg_trunc_base", "jpg_trunc_prog", "png_trunc", "webp_trunc"])
    func `a truncated image is an error, or is decoded in part with allowTruncated`(_ name: String) throws {
        let file = try #require(Corpus.shared.files.first { $0.path.hasPrefix("hostile/gen__\(name)_50") })
        let source = try Corpus.shared.source(file.path)
        let error = #expect(throws: ImageCodecError.self) { try ImageDecoder().decode(source) }
        #expect(error?.code == .truncated)
        var decoder = ImageDecoder()
        decoder.allowTruncated = true
        let image = try decoder.decode(source)
        #expect(image.damage?.code == .truncated)
        let small = try decoder.decode(source, to: .fit(40, 40))
        #expect(small.damage?.code == .truncated && small.width <= 40)
    }
}
