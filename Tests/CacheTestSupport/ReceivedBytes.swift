import Foundation
package import ImageCache
import Testing

/// The bytes that a client of a response receives, wherever they are.
extension ForwardedBody.Piece {
    package func bytes() throws -> [UInt8] {
        switch self {
        case .bytes(let bytes): bytes
        case .stored(let descriptor, let range): try read(range, of: descriptor)
        }
    }
}

extension ForwardedResponse {
    package func bytes() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        guard let body else { return [] }
        for try await piece in body { bytes += try piece.bytes() }
        return bytes
    }
}

extension HotResponse {
    package func bytes() throws -> [UInt8] {
        switch body {
        case .bytes(let bytes): bytes
        case .stored(let response): try response.bytes()
        case nil: []
        }
    }
}

extension CachedResponse {
    package func bytes() throws -> [UInt8] {
        guard let range, let descriptor else { return [] }
        return try read(range, of: descriptor)
    }
}

private func read(_ range: Range<Int64>, of descriptor: Int32) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: range.count)
    try #require(pread(descriptor, &bytes, range.count, off_t(range.lowerBound)) == range.count)
    return bytes
}
