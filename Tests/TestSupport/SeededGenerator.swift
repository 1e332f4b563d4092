import Foundation

/// Random numbers that a test can be given again: prints its seed when made; `IMGCACHE_TEST_SEED` sets it.
public struct SeededGenerator: RandomNumberGenerator {
    public let seed: UInt64
    private var generator: SplitMix64

    /// - Parameter name: what the seed is for, printed with it.
    public init(for name: String) {
        let given = ProcessInfo.processInfo.environment["IMGCACHE_TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0...UInt64(UInt32.max))
        print("\(name): IMGCACHE_TEST_SEED=\(seed)")
        self.init(seed: seed)
    }

    public init(seed: UInt64) {
        self.seed = seed
        generator = SplitMix64(seed: seed)
    }

    public mutating func next() -> UInt64 { generator.next() }
}

/// The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
