import Digests
import ImageCache

/// A part of a shared body as an object of the remote store: a prefix that identifies the body and the part, followed by the part's bytes.
enum PartObject {
    private static let formatVersion: UInt8 = 1

    static func prefix(of index: Int, _ list: PartList) -> [UInt8] {
        var writer = FieldWriter()
        writer.write(formatVersion)
        for byte in list.identity.bytes { writer.write(byte) }
        writer.write(Int64(index))
        writer.write(Int64(list.range(of: index).count))
        writer.write(list.total)
        return writer.bytes
    }

    /// The position of a part's bytes in its object; `nil` if the object is not this part.
    static func content(of object: [UInt8], _ index: Int, _ list: PartList) -> Range<Int>? {
        let prefix = prefix(of: index, list)
        guard object.starts(with: prefix), object.count == prefix.count + list.range(of: index).count else {
            return nil
        }
        return prefix.count..<object.count
    }

    /// The SHA-256 of a range of an object.
    static func digest(_ range: Range<Int>, of object: [UInt8]) throws(DigestUnavailable) -> [UInt8] {
        let running = try RunningDigest(.sha256)
        object.withUnsafeBytes { running.update(UnsafeRawBufferPointer(rebasing: $0[range])) }
        return running.finish()
    }
}
