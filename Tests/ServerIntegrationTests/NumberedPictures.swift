import Foundation
import ImageCodec
import TestSupport

/// An origin whose paths end with a number, which tells which of four pictures they have.
enum NumberedPictures {
    static let count = 4

    private static let pictures: [[UInt8]] = (0..<count).map { number in
        let image = try? DecodedImage(width: 200, height: 150) { memory in
            for index in 0..<(200 * 150) {
                memory[index * 4 + number % 3] = UInt8(truncatingIfNeeded: index % (200 + number))
                memory[index * 4 + 3] = 255
            }
        }
        return image.flatMap { try? ImageEncoder.jpeg(quality: 90).encode($0) } ?? []
    }

    /// The original of a path.
    static func picture(_ path: String) -> [UInt8] {
        pictures[(Int(path.split(separator: "-").last ?? "") ?? 0) % count]
    }

    /// - Parameter isGone: True while it responds to everything with 503.
    static func origin(isGone: @escaping @Sendable () -> Bool = { false }) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            if isGone() { return [.head(status: 503, fields: [("Content-Length", "0")])] }
            let picture = picture(request.path)
            let head = [
                ("ETag", "\"\(request.path)\""), ("Cache-Control", "public, max-age=600"),
                ("Content-Length", "\(picture.count)"), ("Date", httpDate(Date())),
            ]
            return [.head(status: 200, fields: head), .body(picture)]
        }
    }
}
