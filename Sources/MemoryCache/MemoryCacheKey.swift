/// The key of a value in a ``MemoryCache``: a value type instead of a joined string, which identifies the original that
/// the cached value was made from.
///
/// An image of one URL is kept in several sizes, fits and formats. Each has its own key, and all share one
/// ``original``; ``MemoryCache/removeVariants(of:)`` removes exactly these, compared by `==`.
///
/// ```swift
/// struct ImageKey: MemoryCacheKey {
///     var original: String  // the URL
///     var width: Int, height: Int
/// }
/// ```
public protocol MemoryCacheKey: Hashable, Sendable {
    associatedtype Original: Hashable & Sendable

    /// The original that the value was made from. Must not change while the key is in use; equal keys have equal
    /// originals.
    var original: Original { get }
}

extension MemoryCacheKey where Original == Self {
    /// By default, the key is its own original.
    public var original: Self { self }
}
