import ImageCodec

/// Targets with another name than their format.
private let otherNames: [String: ImageFormat] = ["eighth": .jpeg, "jxl": .jpegXL]

/// The fuzzed format: inputs of others stay out of the corpus.
let format = otherNames[fuzzTarget] ?? ImageFormat.allCases.first { "\($0)".lowercased() == fuzzTarget }

@_cdecl("ImageFuzzer_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    if let format, ImageFormat.inWorkersOnly.contains(format) { ImageCodecLibraries.allowWorkerFormats() }
    return fuzz(count, arguments) { bytes, length in
        let bytes = Array(UnsafeBufferPointer(start: bytes, count: length))
        guard ImageFormat.detect(bytes) == format else { return -1 }
        if fuzzTarget == "eighth" { EighthScaleTrial(bytes).run() } else { Trial(bytes).run() }
        return 0
    }
}
