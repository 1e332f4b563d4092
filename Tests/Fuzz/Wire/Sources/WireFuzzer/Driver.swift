import Glibc

// SwiftPM renames an executable's `main`; under the new name it starts libFuzzer's driver.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ testOne: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// What is fuzzed: `url`, or response heads.
private let isURL = getenv("IMGCACHE_FUZZ").map { String(cString: $0) == "url" } ?? false

@_cdecl("WireFuzzer_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    var count = count
    var arguments = arguments
    return runDriver(&count, &arguments) { bytes, length in
        let input = UnsafeBufferPointer(start: bytes, count: length)
        if isURL { URLTrial(input).run() } else { HeadTrial(input).run() }
        return 0
    }
}
