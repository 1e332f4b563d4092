import Glibc

// SwiftPM renames an executable's `main`; under the new name it starts libFuzzer's driver.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ testOne: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// What is fuzzed, from the environment.
let trial = getenv("IMGCACHE_FUZZ").flatMap { Trial(rawValue: String(cString: $0)) } ?? .metadata

@_cdecl("RecordFuzzer_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    var count = count
    var arguments = arguments
    return runDriver(&count, &arguments) { bytes, length in
        trial.run(Array(UnsafeBufferPointer(start: bytes, count: length)))
        return 0
    }
}
