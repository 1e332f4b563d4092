import HTTPServer
import ImageCache

extension Setting {
    /// The text that `--help` prints.
    static var help: String {
        var text = """
            OVERVIEW: A caching proxy and thumbnail service in front of one or several origins.

            USAGE: imgcache-server --origin URL [options]

            Each option is also read from the environment (--max-requests: IMGCACHE_MAX_REQUESTS) and from a JSON file
            ({"max-requests": 100}); the command line overrides the environment, the environment the file. The file alone has
            "origins": several origins by host and path, each with settings of its own.


            """
        for (title, settings) in all {
            text += "\(title.uppercased()):\n"
            for setting in settings { text += setting.helpLine }
            text += "\n"
        }
        text += """
            OTHER:
              --config FILE           The configuration file (or IMGCACHE_CONFIG).
              --check                 Read the settings and exit: silently with 0, or with the error and 2.
              --ready                 Ask the running service with these settings whether it is ready, and exit: with 0, or with the reason and 1.
              --print-config          Print the effective settings, without secrets, and exit.
              --version               Print the version.
              -h, --help              Print this help.

            SIGHUP applies new values of the options marked with *; SIGTERM and SIGINT stop the server.

            """
        return text
    }

    private var helpLine: String {
        let option = "  --\(name)" + (placeholder.isEmpty ? "" : " \(placeholder)")
        let gap =
            option.count < 25
            ? String(repeating: " ", count: 26 - option.count) : "\n" + String(repeating: " ", count: 26)
        let standard = shape == .flag || isSecret ? nil : text(ServerConfiguration())
        let note = standard.flatMap { $0.isEmpty ? nil : " (default: \($0))" } ?? ""
        return option + gap + help + note + (isReloadable ? " *" : "") + "\n"
    }
}

extension Setting {
    /// A value for display, valid or not, or nil if it is secret.
    func shown(_ text: String) -> String? {
        if isSecret { return nil }
        return name == "origin" ? Self.maskedUserinfo(text) : text
    }

    /// A URL with its credentials replaced by `***`.
    static func maskedUserinfo(_ url: String) -> String {
        let plain = FileRequest(url).urlWithoutUserinfo
        guard plain != url, let slashes = plain.firstRange(of: "://") else { return plain }
        return plain[..<slashes.upperBound] + "***@" + plain[slashes.upperBound...]
    }
}
