package import ImageCache

/// Images that are sent instead of an error's JSON to clients that ask for an image.
package struct FallbackImages: Sendable {
    /// A file that is sent as it is.
    package struct File: Sendable, Equatable {
        package let bytes: [UInt8]
        package let format: ImageFormat

        /// - Returns: nil if the bytes are not those of an image that browsers show and the package reads.
        package init?(_ bytes: [UInt8]) {
            guard let format = ImageFormat.detect(bytes.prefix(ImageFormat.signatureLength)), format.isSupported,
                (try? ImageDecoder().info(ImageSource(bytes))) != nil
            else { return nil }
            self.bytes = bytes
            self.format = format
        }
    }

    /// The statuses for which there may be an image: those that say something of the original, or of the way to it.
    package static let statuses: Set<Int> = [404, 410, 415, 422, 500, 502, 503, 504]

    /// For statuses without a file of their own.
    package var general: File?
    package var byStatus: [Int: File] = [:]

    package init() {}

    func file(for status: Int) -> File? {
        guard Self.statuses.contains(status) else { return nil }
        return byStatus[status] ?? general
    }
}
