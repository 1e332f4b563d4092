extension KeyLock { public func release() {} }
extension BodyWriter {
    public func commitTransient() throws(StoreError) -> StoredBody { throw StoreError(.io, "not yet") }
}
