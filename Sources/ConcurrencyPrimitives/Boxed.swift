/// A value on the heap, for a large part of a value that is passed through many functions. Each of them, and each task that waits in one, has
/// room for all copies that it makes.
///
/// It is copied when one of several holders changes it.
package struct Boxed<Value: Sendable>: Sendable {
    // Changed only by its single holder.
    private final class Box: @unchecked Sendable {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    package init(_ value: Value) { box = Box(value) }

    package var value: Value {
        get { box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}
