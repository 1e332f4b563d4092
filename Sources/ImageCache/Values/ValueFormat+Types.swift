import DiskStore

extension ValueFormat {
    /// The format of values that are decoded from responses.
    init(ofResponse type: Any.Type, version: String) {
        self.init(type: "response " + Self.name(of: type), version: version)
    }

    /// The format of values that the application stores.
    init(ofStored type: Any.Type, version: String) {
        self.init(type: "stored " + Self.name(of: type), version: version)
    }

    /// The mangled name, because the printed name of a private type contains an address. Two builds of an application may have different
    /// mangled names; the older values then remain until they are evicted.
    private static func name(of type: Any.Type) -> String { _mangledTypeName(type) ?? String(reflecting: type) }
}
