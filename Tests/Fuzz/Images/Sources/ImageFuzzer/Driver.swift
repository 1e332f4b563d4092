import Glibc
import ImageCodec

// SwiftPM renames an executable's `main`; under the new name it starts libFuzzer's driver.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ testOne: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The format that is fuzzed, from the environment: inputs of others go back into the pot.
let format = getenv("IMGCACHE_FUZZ").flatMap { name in
    ImageFormat.allCases.first { "\($0)".lowercased() == String(cString: name).lowercased() }
}

@_cdecl("ImageFuzzer_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    var count = count
    var arguments = arguments
    return runDriver(&count, &arguments) { bytes, length in
        let bytes = Array(UnsafeBufferPointer(start: bytes, count: length))
        guard ImageFormat.detect(bytes) == format else { return -1 }
        Trial(bytes).run()
        return 0
    }
}
