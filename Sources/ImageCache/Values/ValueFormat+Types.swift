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

    /// The mangled name, since the one that is printed holds an address for private types. Two builds of an application may differ in
    /// it: then the older values stay until they are evicted.
    private static func name(of type: Any.Type) -> String { _mangledTypeName(type) ?? String(reflecting: type) }
}
