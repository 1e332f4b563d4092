import ConcurrencyPrimitives
import Glibc

/// A shared library that is opened with `dlopen` when it is first needed, and stays open: who does not need it does not pay for it.
///
/// One that cannot be opened is tried again by who needs it next. A process that had no descriptor left for a moment is not without the
/// library for the rest of its life.
package final class DynamicLibrary<Functions: Sendable>: Sendable {
    private let name: String
    private let find: @Sendable (DynamicLibrarySymbols) -> Functions?
    private let found = Locked<Functions?>(nil)

    /// - Parameters:
    ///   - name: The library's file name, with the version of its interface: `libexpat.so.1`. It is looked for where the system has libraries.
    ///   - find: Looks up the functions; nil where the library lacks one.
    package init(_ name: String, _ find: @escaping @Sendable (DynamicLibrarySymbols) -> Functions?) {
        self.name = name
        self.find = find
    }

    /// The functions; nil where the library is not installed, is of another version, or cannot be opened now.
    package func functions() -> Functions? {
        found.withLock { found in
            if let found { return found }
            guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
            found = find(DynamicLibrarySymbols(handle: handle))
            if found == nil { dlclose(handle) }
            return found
        }
    }
}

/// The symbols of an open library.
package struct DynamicLibrarySymbols {
    let handle: UnsafeMutableRawPointer

    /// The function of this name; nil where there is none.
    ///
    /// - Parameter type: A `@convention(c)` type that fits the function's declaration.
    package func function<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
        dlsym(handle, name).map { unsafeBitCast($0, to: type) }
    }
}
