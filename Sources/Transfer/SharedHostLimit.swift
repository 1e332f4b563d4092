/// A limit of the transfers with one host that several engines share, those of other processes too.
public protocol SharedHostLimit: Sendable {
    /// Takes a place for a transfer; called on the engine's thread, must return at once.
    ///
    /// - Parameter host: Scheme, host and port.
    /// - Returns: A place until the value is released; `nil`: none is free.
    func place(with host: String) -> (any AnyObject & Sendable)?
}
