import ConcurrencyPrimitives
package import ImageCache

/// The images that were rendered, by format and preset.
package final class RenderCounts: Sendable {
    /// A format, and the preset of the request: nil for a request without one.
    package struct Kind: Sendable, Hashable {
        package var format: ImageFormat
        package var preset: String?

        /// The name of the format.
        package var formatName: String { format.name }

        package init(_ format: ImageFormat, preset: String?) {
            self.format = format
            self.preset = preset
        }
    }

    private let counts: Locked<[Kind: Int]>

    /// Starts with the formats that can be encoded at 0.
    package init() {
        counts = Locked(
            Dictionary(uniqueKeysWithValues: ImageEncoder.ownFormats.map { (Kind($0, preset: nil), 0) }))
    }

    /// The counts since the start.
    package var all: [Kind: Int] { counts.withLock { $0 } }

    /// Counts an image, if it was rendered for its request.
    func note(_ thumbnail: Thumbnail, preset: String?) {
        guard case .original = thumbnail.source else { return }
        counts.withLock { $0[Kind(thumbnail.format, preset: preset), default: 0] += 1 }
    }
}
