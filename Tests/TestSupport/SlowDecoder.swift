import Glibc
package import ImageCodec

/// A decoder of the bytes 1, 2 and 3, which costs CPU time in its header and in its pixels.
package struct SlowDecoder: ImageDecoding {
    package let format = ImageFormat(name: "slow", mediaType: "image/x-slow")
    package let identity = "slow"
    private let seconds: Double

    package init(seconds: Double) { self.seconds = seconds }

    package func canDecode(_ start: [UInt8]) -> Bool { start == [1, 2, 3] }

    package func header(of source: ImageSource) throws(ImageCodecError) -> DecodingHeader {
        burn()
        return DecodingHeader(width: 1, height: 1)
    }

    package func decode(_ source: ImageSource, within budget: ImageBudget) throws(ImageCodecError) -> DecodedImage {
        burn()
        return try DecodedImage(width: 1, height: 1) { $0.initializeMemory(as: UInt8.self, repeating: 9) }
    }

    private func burn() {
        let end = Self.threadSeconds + seconds
        while Self.threadSeconds < end {}
    }

    private static var threadSeconds: Double {
        var now = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
