import CLinux
import Glibc

/// The version of the programs, what they were built from, and the libraries that they read data from the network with.
package enum ProgramVersion {
    package static let number = "0.1.0"

    /// The version, for reports: a line for the program, its commit, its compiler and each library.
    ///
    /// - Parameters:
    ///   - program: The program's name.
    ///   - libcurl: The version of libcurl and of what it uses, or why it cannot be opened.
    package static func report(of program: String, libcurl: String) -> String {
        let build = build
        var lines = [("version", "\(program) \(number)")]
        lines.append(("commit", build?.commit ?? "not recorded: not built by scripts/build"))
        if let build { lines.append(("Swift", build.compiler)) }
        lines.append(("libcurl", libcurl))
        lines += libraries.map { ("library", $0) }
        return lines.map { "\($0.0)\(String(repeating: " ", count: 9 - $0.0.count))\($0.1)" }.joined(separator: "\n")
    }

    /// The commit and the compiler of the build, which `scripts/build` writes into the program; nil if it did not.
    private static var build: (commit: String, compiler: String)? {
        let words = String(cString: clinux_build_identity()).split(separator: " ")
        return words.count == 2 ? (String(words[0]), String(words[1])) : nil
    }

    /// The beginnings of the names of the libraries that read data from the network.
    private static let reported = [
        "libcurl.", "libcrypto.", "libssl.", "libjpeg.", "libpng", "libwebp", "libgif.", "libavif.", "libaom.",
        "libdav1d.",
        "libgav1.", "libheif.", "libde265.", "libjxl.", "libtiff.", "liblcms2.", "libyuv.",
    ]

    /// The files of these libraries, as far as this process has opened them; the names end in their version.
    private static var libraries: [String] {
        guard let maps = fopen("/proc/self/maps", "re") else { return [] }
        defer { fclose(maps) }
        var paths: Set<String> = []
        var line = [CChar](repeating: 0, count: 4096)
        while fgets(&line, Int32(line.count), maps) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard let slash = text.firstIndex(of: "/") else { continue }
            let path = text[slash...].prefix { $0 != "\n" }
            let name = path.split(separator: "/").last ?? ""
            if reported.contains(where: { name.hasPrefix($0) }) { paths.insert(String(path)) }
        }
        return paths.sorted()
    }
}
