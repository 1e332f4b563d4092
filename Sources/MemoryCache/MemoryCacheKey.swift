/// The key of a value in a ``MemoryCache``: a value of its own, never a joined string, that tells which original the
/// cached value was made from.
///
/// An image of one URL is kept in several sizes, fits and formats. Each of them has a key of its own, all of them tell
/// the same ``original``, and ``MemoryCache/removeVariants(of:)`` removes them and nothing else: what counts is `==`, not
/// the beginning of a name.
///
/// ```swift
/// struct ImageKey: MemoryCacheKey {
///     var original: String  // the URL
///     var width: Int, height: Int
/// }
/// ```
public protocol MemoryCacheKey: Hashable, Sendable {
    associatedtype Original: Hashable & Sendable

    /// What the value was made from. Must not change as long as the key is in use; equal keys have equal originals.
    var original: Original { get }
}

extension MemoryCacheKey where Original == Self {
    /// A key that says nothing else is its own original.
    public var original: Self { self }
}
