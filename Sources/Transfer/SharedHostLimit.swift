/// A limit of the concurrent transfers with one host that several engines share, including engines of other processes.
public protocol SharedHostLimit: Sendable {
    /// Takes a place for a transfer. Called on the engine's thread: must return immediately.
    ///
    /// - Parameter host: Scheme, host and port.
    /// - Returns: A place, held until the value is released; `nil` if no place is free.
    func place(with host: String) -> (any AnyObject & Sendable)?
}
