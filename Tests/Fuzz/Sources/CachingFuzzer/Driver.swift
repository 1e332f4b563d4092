@_cdecl("CachingFuzzer_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    fuzz(count, arguments) { bytes, length in
        Scenario(UnsafeBufferPointer(start: bytes, count: length)).run()
        return 0
    }
}
