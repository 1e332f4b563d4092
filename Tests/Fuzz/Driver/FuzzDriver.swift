import Glibc

/// The `argv` of a C program.
typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<Arguments?>,
    _ testOne: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// Runs libFuzzer with the program's arguments. SwiftPM renames an executable's `main` to `<target>_main`: each fuzzer exports
/// a function of that name that calls this one.
///
/// - Parameter testOne: tests one input; returns 0, or -1 to keep the input out of the corpus. Every file of a fuzzer's
///   package is built with the instrumentation, this one too.
func fuzz(
    _ count: Int32, _ arguments: Arguments?, _ testOne: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32 {
    var count = count
    var arguments = arguments
    return runDriver(&count, &arguments, testOne)
}

/// The target that scripts/fuzz selected, for packages with several.
let fuzzTarget = getenv("IMGCACHE_FUZZ").map { String(cString: $0) } ?? ""
