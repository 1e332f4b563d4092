/// How a cache finds a value again that it has purged while a caller still holds it.
///
/// The memory of such a value is in use anyway; to find it costs nothing, to make it again costs it a second time. The
/// cache keeps a weak reference to the object that is the value, or that its bytes belong to.
public struct HeldValues<Value: Sendable>: Sendable {
    @usableFromInline let object: @Sendable (Value) -> any AnyObject & Sendable
    @usableFromInline let value: @Sendable (any AnyObject & Sendable) -> Value?

    /// For values that are structures around an object.
    /// - Parameters:
    ///   - object: the object that lives exactly as long as somebody uses the value.
    ///   - value: the value around that object again.
    @inlinable
    public init(
        object: @escaping @Sendable (Value) -> any AnyObject & Sendable,
        value: @escaping @Sendable (any AnyObject & Sendable) -> Value?
    ) {
        self.object = object
        self.value = value
    }
}

extension HeldValues where Value: AnyObject {
    /// For values that are objects.
    @inlinable
    public static var objects: HeldValues { HeldValues(object: { $0 }, value: { $0 as? Value }) }
}

/// A weak reference on the heap: inside an entry it would make every move of the entry a call of the runtime.
@usableFromInline
final class WeakReference: Sendable {
    @usableFromInline weak let object: (any AnyObject & Sendable)?

    @inlinable
    init(_ object: any AnyObject & Sendable) {
        self.object = object
    }
}
