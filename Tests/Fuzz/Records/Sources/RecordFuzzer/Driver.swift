private let trial = Trial(rawValue: fuzzTarget) ?? .metadata

@_cdecl("RecordFuzzer_main")
public func start(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
    fuzz(count, arguments) { bytes, length in
        trial.run(Array(UnsafeBufferPointer(start: bytes, count: length)))
        return 0
    }
}
