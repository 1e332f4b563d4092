import DiskStore
import ImageCache

/// Encodes places in an order of records as opaque text.
enum RecordCursor {
    static func text(_ place: ListPlace) -> String {
        switch place {
        case .array(let position): "o\(position)"
        case .newest(let age, let position): "n\(age).\(position)"
        case .id(let id): "i" + hexadecimal(id.utf8)
        case .key(let key, let id): "k" + hexadecimal(key.bytes) + "." + hexadecimal(id.utf8)
        }
    }

    static func place(_ cursor: String, in order: RecordOrder) throws(ImageCacheError) -> ListPlace {
        if let place = parsed(cursor, order) { return place }
        throw ImageCacheError(
            .invalidRequest, message: "'\(cursor.prefix(40))' is no cursor of records in the order '\(order.rawValue)'")
    }

    private static func parsed(_ cursor: String, _ order: RecordOrder) -> ListPlace? {
        let parts = cursor.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        switch (cursor.first, order, parts.count) {
        case ("o", .order, 1): return Int64(parts[0]).map { .array(position: $0) }
        case ("n", .newest, 2):
            guard let age = Int64(parts[0]), let position = Int64(parts[1]) else { return nil }
            return .newest(age: age, position: position)
        case ("i", .id, 1): return bytes(parts[0]).map { .id(String(decoding: $0, as: UTF8.self)) }
        case ("k", .key, 2):
            guard let key = bytes(parts[0]), let id = bytes(parts[1]) else { return nil }
            return .key(ListSortKey(encoded: key), id: String(decoding: id, as: UTF8.self))
        default: return nil
        }
    }

    private static func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
        let digits = text.utf8.map { digit -> UInt8? in
            switch digit {
            case 0x30...0x39: digit - 0x30
            case 0x61...0x66: digit - 0x57
            default: nil
            }
        }
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
