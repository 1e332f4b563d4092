@_cdecl("WireFuzzer_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    fuzz(count, arguments) { bytes, length in
        let input = UnsafeBufferPointer(start: bytes, count: length)
        if fuzzTarget == "url" { URLTrial(input).run() } else { HeadTrial(input).run() }
        return 0
    }
}
