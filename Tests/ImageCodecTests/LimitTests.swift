import Testing

@testable import ImageCodec

@Suite struct LimitTests {
    private let files = [
        "jpeg/exif-orientation-examples__Landscape_6.jpg", "png/codec-corpus__24.png", "webp/Pillow__hopper.webp",
    ]

    private func outcome(_ path: String, _ change: (inout DecodingLimits) -> Void) throws -> ImageCodecError.Code? {
        var decoder = ImageDecoder()
        change(&decoder.limits)
        do throws(ImageCodecError) {
            _ = try decoder.decode(ImageSource(path: Corpus.shared.place(path)))
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `each limit refuses an image that exceeds it`() throws {
        for file in files {
            #expect(try outcome(file) { _ in } == nil)
            #expect(try outcome(file) { $0.pixels = 128 * 128 - 1 } == .limitExceeded)
            #expect(try outcome(file) { $0.side = 127 } == .limitExceeded)
            #expect(try outcome(file) { $0.bytes = 100 } == .limitExceeded)
            #expect(try outcome(file) { $0.memory = 60_000 } == .limitExceeded)
        }
        #expect(try outcome(files[0]) { $0.seconds = 0 } == .limitExceeded)
        #expect(try outcome(files[1]) { $0.seconds = 0 } == .limitExceeded)
        #expect(try outcome("jpeg/Pillow__icc_profile_big.jpg") { $0.ancillary = 10_000 } == .limitExceeded)
    }

    @Test func `a result larger than the limit is refused before it is made`() throws {
        var sizing = ImageSizing(width: 60_000, height: 60_000, fit: .fill)
        sizing.allowsEnlargement = true
        let error = #expect(throws: ImageCodecError.self) {
            try ImageDecoder().decode(Corpus.shared.source(files[2]), to: sizing)
        }
        #expect(error?.code == .limitExceeded)
    }
}
