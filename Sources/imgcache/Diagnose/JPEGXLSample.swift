import FoundationEssentials

/// An image of 16 × 16 pixels in JPEG XL, since this program does not write the format. Made with cjxl 0.7.0.
enum JPEGXLSample {
    static var bytes: [UInt8] { Data(base64Encoded: text).map { [UInt8]($0) } ?? [] }

    private static let text = """
        /wpDQEBxIQgCAQBUAUsoNcY+rIdUUFBQEowA0kKFMQbvoYH64sUYL8bcCAAEEAIIACReQ8mDAeCcHwDg6Q8AfPoDABzzA+A+5jXQDsEl\
        DSBKKuheNpFYKiMqwHETgvUkPBY=
        """
}
