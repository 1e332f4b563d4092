import Glibc

/// Converts host names beyond ASCII to A-labels (RFC 5890) by UTS 46, non-transitional.
///
/// Uses libidn2, a dependency of libcurl. It is opened with `dlopen` for the first such name, and reads UTF-8
/// regardless of the process's locale (libcurl's own conversion reads the locale's encoding and fails in the locale
/// `C`).
enum InternationalName {
    fileprivate typealias Lookup =
        @convention(c) (UnsafePointer<UInt8>, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, Int32) -> Int32
    fileprivate typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void
    fileprivate typealias Describe = @convention(c) (Int32) -> UnsafePointer<CChar>?

    /// libidn2's functions.
    struct Library: Sendable {
        fileprivate let lookup: Lookup
        fileprivate let free: Free
        fileprivate let describe: Describe

        /// Opens the first library that exists; nil if none does, or it lacks a function.
        init?(opening names: [String] = ["libidn2.so.0"]) {
            guard let handle = names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first else { return nil }
            func symbol<Function>(_ name: String, as _: Function.Type) -> Function? {
                dlsym(handle, name).map { unsafeBitCast($0, to: Function.self) }
            }
            guard let lookup = symbol("idn2_lookup_u8", as: Lookup.self), let free = symbol("idn2_free", as: Free.self),
                let describe = symbol("idn2_strerror", as: Describe.self)
            else { return nil }
            (self.lookup, self.free, self.describe) = (lookup, free, describe)
        }

        static let shared = Library()
    }

    /// IDN2_NFC_INPUT and IDN2_NONTRANSITIONAL of idn2.h.
    private static let flags: Int32 = 1 | 8

    /// Returns the name in A-labels.
    ///
    /// - Parameter library: nil if libidn2 is not installed.
    static func ascii(_ name: String, library: Library? = .shared) throws(InvalidURL) -> String {
        guard let library else {
            throw InvalidURL(
                .internationalName(
                    "the host name '\(name)' needs libidn2.so.0 (Debian package libidn2-0), which cannot be opened"))
        }
        var input = Array(name.utf8)
        // libidn2 alone would end the name at a NUL.
        guard !input.contains(0) else { throw InvalidURL(.host) }
        input.append(0)
        var output: UnsafeMutablePointer<UInt8>?
        let code = library.lookup(input, &output, flags)
        defer { library.free(output) }
        guard code == 0, let output else {
            let reason = library.describe(code).map { String(cString: $0) } ?? "error \(code)"
            throw InvalidURL(.internationalName("the host name '\(name)' is not valid: \(reason)"))
        }
        return String(cString: output)
    }
}
