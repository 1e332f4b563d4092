import ImageCodec

/// The fuzzed format: inputs of others stay out of the corpus.
let format = fuzzTarget == "eighth" ? .jpeg : ImageFormat.allCases.first { "\($0)".lowercased() == fuzzTarget }

@_cdecl("ImageFuzzer_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    if format == .heif { ImageCodecLibraries.allowHEIF() }
    return fuzz(count, arguments) { bytes, length in
        let bytes = Array(UnsafeBufferPointer(start: bytes, count: length))
        guard ImageFormat.detect(bytes) == format else { return -1 }
        if fuzzTarget == "eighth" { EighthScaleTrial(bytes).run() } else { Trial(bytes).run() }
        return 0
    }
}
