import Glibc

/// A text that compares, hashes and sorts by its UTF-8 bytes.
///
/// `String` compares by canonical equivalence: "é" as one scalar equals "e" with a combining accent. Servers, file systems and
/// SQLite take them for two texts. So ids, owners, names of files, tags and keys from outside are compared as values of this type.
/// It wraps a property whose type compares its properties:
///
/// ```swift
/// struct ListName: Hashable { @ByteText var owner: String }
/// ```
@propertyWrapper
package struct ByteText: Sendable, Hashable, Comparable {
    package var wrappedValue: String

    package init(wrappedValue: String) { self.wrappedValue = wrappedValue }
    package init(_ text: some StringProtocol) { wrappedValue = String(text) }

    package static func == (left: ByteText, right: ByteText) -> Bool {
        left.wrappedValue.hasSameBytes(as: right.wrappedValue)
    }

    package static func < (left: ByteText, right: ByteText) -> Bool {
        left.wrappedValue.utf8.lexicographicallyPrecedes(right.wrappedValue.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = wrappedValue
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(UInt8.max)
    }
}

extension StringProtocol {
    /// The text as it is compared by its bytes.
    package var asBytes: ByteText { ByteText(self) }

    /// Returns true if both texts have the same UTF-8 bytes.
    package func hasSameBytes(as other: some StringProtocol) -> Bool {
        let isEqual = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                guard left.count == right.count else { return false }
                guard let left = left.baseAddress, let other = right.baseAddress else { return true }
                return memcmp(left, other, right.count) == 0
            }
        }
        return (isEqual ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}
