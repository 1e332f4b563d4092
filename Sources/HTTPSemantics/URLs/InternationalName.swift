import DynamicLibraries

/// Converts host names beyond ASCII to A-labels (RFC 5890) by UTS 46, non-transitional.
///
/// Uses libidn2, a dependency of libcurl. It is opened with `dlopen` for the first such name, and reads UTF-8
/// regardless of the process's locale (libcurl's own conversion reads the locale's encoding and fails in the locale
/// `C`).
enum InternationalName {
    /// libidn2's functions.
    struct Functions: Sendable {
        typealias Lookup =
            @convention(c) (UnsafePointer<UInt8>, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, Int32) -> Int32
        typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void
        typealias Describe = @convention(c) (Int32) -> UnsafePointer<CChar>?

        let lookup: Lookup
        let free: Free
        let describe: Describe

        init?(_ symbols: DynamicLibrarySymbols) {
            guard let lookup = symbols.function("idn2_lookup_u8", as: Lookup.self),
                let free = symbols.function("idn2_free", as: Free.self),
                let describe = symbols.function("idn2_strerror", as: Describe.self)
            else { return nil }
            (self.lookup, self.free, self.describe) = (lookup, free, describe)
        }
    }

    static let libidn2 = DynamicLibrary("libidn2.so.0", Functions.init)

    /// IDN2_NFC_INPUT and IDN2_NONTRANSITIONAL of idn2.h.
    private static let flags: Int32 = 1 | 8

    /// Returns the name in A-labels.
    ///
    static func ascii(
        _ name: String, library: DynamicLibrary<Functions> = libidn2
    ) throws(InvalidURL) -> String {
        guard let functions = library.functions() else {
            throw InvalidURL(
                .internationalName(
                    "the host name '\(name)' needs libidn2.so.0 (Debian package libidn2-0), which cannot be opened"))
        }
        var input = Array(name.utf8)
        // libidn2 alone would end the name at a NUL.
        guard !input.contains(0) else { throw InvalidURL(.host) }
        input.append(0)
        var output: UnsafeMutablePointer<UInt8>?
        let code = functions.lookup(input, &output, flags)
        defer { functions.free(output) }
        guard code == 0, let output else {
            let reason = functions.describe(code).map { String(cString: $0) } ?? "error \(code)"
            throw InvalidURL(.internationalName("the host name '\(name)' is not valid: \(reason)"))
        }
        return String(cString: output)
    }
}
