package import ImageCache

/// Images that are sent instead of an error's JSON to clients that ask for an image.
package struct FallbackImages: Sendable {
    /// A file that is sent unchanged.
    package struct File: Sendable, Equatable {
        package let bytes: [UInt8]
        package let format: ImageFormat

        /// - Returns: nil if the bytes are not an image that both browsers and this package can decode.
        package init?(_ bytes: [UInt8]) {
            guard let format = ImageFormat.detect(bytes.prefix(ImageFormat.signatureLength)), format.isSupported,
                (try? ImageDecoder().info(ImageSource(bytes))) != nil
            else { return nil }
            self.bytes = bytes
            self.format = format
        }
    }

    /// The statuses that may have a fallback image: those about the original, or about reaching it.
    package static let statuses: Set<Int> = [404, 410, 415, 422, 500, 502, 503, 504]

    /// The image for statuses without a file of their own.
    package var general: File?
    package var byStatus: [Int: File] = [:]

    package init() {}

    func file(for status: Int) -> File? {
        guard Self.statuses.contains(status) else { return nil }
        return byStatus[status] ?? general
    }
}
