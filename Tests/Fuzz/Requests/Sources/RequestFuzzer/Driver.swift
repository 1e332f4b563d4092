@_cdecl("RequestFuzzer_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    fuzz(count, arguments) { bytes, length in
        Trial(Array(UnsafeBufferPointer(start: bytes, count: length))).run()
        return 0
    }
}
