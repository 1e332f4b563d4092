/// Finds values again that the cache has purged while a caller still holds them.
///
/// The memory of such a value is in use anyway: finding it costs nothing, creating it again would cost it twice. The
/// cache keeps a weak reference to the object that is the value, or that owns its bytes.
public struct WeakValues<Value: Sendable>: Sendable {
    @usableFromInline let object: @Sendable (Value) -> any AnyObject & Sendable
    @usableFromInline let value: @Sendable (any AnyObject & Sendable) -> Value?

    /// Creates the look-up for values that are structures around an object.
    /// - Parameters:
    ///   - object: Returns the object whose lifetime equals the use of the value.
    ///   - value: Returns the value around that object.
    @inlinable
    public init(
        object: @escaping @Sendable (Value) -> any AnyObject & Sendable,
        value: @escaping @Sendable (any AnyObject & Sendable) -> Value?
    ) {
        self.object = object
        self.value = value
    }
}

extension WeakValues where Value: AnyObject {
    /// The look-up for values that are objects.
    @inlinable
    public static var objects: WeakValues { WeakValues(object: { $0 }, value: { $0 as? Value }) }
}
