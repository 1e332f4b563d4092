import Testing
import Units

@Suite("Sizes with units")
struct ByteSizeTests {
    @Test(
        arguments: [
            ("0", 0), ("4096", 4096), ("500MB", 500_000_000), ("2GiB", 2 << 30), ("1.5 G", 3 << 29), ("1k", 1024),
            ("1kB", 1000), ("1KIB", 1024), ("10b", 10), ("9007199254740993", 9_007_199_254_740_993), ("0.5KiB", 512),
        ] as [(String, Int64)])
    func `sizes are read with their units`(text: String, bytes: Int64) { #expect(ByteSize(text: text)?.bytes == bytes) }

    @Test(arguments: ["", "MB", "-1", "1.2.3", "5 bananas", "1e999", "99999999TiB", "nan"])
    func `invalid sizes are refused`(text: String) { #expect(ByteSize(text: text) == nil) }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (10_240, "10.0 KiB"), (102_400, "100 KiB"),
            (1_048_064, "1.00 MiB"), (1_048_576, "1.00 MiB"), (2 << 30, "2.00 GiB"), (5 << 40, "5.00 TiB"),
        ] as [(Int64, String)])
    func `sizes are shown with three significant digits`(bytes: Int64, text: String) {
        #expect(ByteSize(bytes).description == text)
    }

    @Test func `sizes that are read again are written to the exact byte`() {
        #expect(ByteSize(3 << 20).exactText == "3MiB" && ByteSize(1000).exactText == "1000")
        for bytes in [0, 1, 1024, 1025, 5 << 40] as [Int64] {
            #expect(ByteSize(text: ByteSize(bytes).exactText)?.bytes == bytes)
        }
    }
}

@Suite("Times with units")
struct TimeSpanTests {
    @Test(
        arguments: [
            ("90", 90), ("30s", 30), ("15m", 900), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600), ("1.5h", 5400),
            ("250ms", 0.25),
        ]
            as [(String, Double)])
    func `times are read with their units`(text: String, seconds: Double) {
        #expect(TimeSpan(text: text)?.seconds == seconds)
    }

    @Test(arguments: ["", "d", "-1s", "1y", "inf", "1h30"])
    func `invalid times are refused`(text: String) { #expect(TimeSpan(text: text) == nil) }

    @Test(
        arguments: [
            (0, "0 s"), (59.4, "59 s"), (60, "1 min"), (200, "3 min 20 s"), (18_120, "5 h 2 min"),
            (1_051_200, "12 d 4 h"), (3601, "1 h"), (90_000, "1 d 1 h"), (86_460, "1 d"), (-5, "0 s"),
        ]
            as [(Double, String)])
    func `times are shown by their two largest units`(seconds: Double, text: String) {
        #expect(TimeSpan(seconds: seconds).description == text)
    }
}
