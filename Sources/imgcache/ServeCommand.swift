import ArgumentParser
import Glibc

/// Replaces `imgcache serve …` with `imgcache-server …`. The server is a separate program, so that the command contains no server code and
/// starts fast.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve an origin through the cache: a proxy that also derives images. Starts imgcache-server.",
        discussion: "Takes imgcache-server's options: imgcache serve --help lists them.",
        helpNames: []
    )

    @Argument(parsing: .captureForPassthrough, help: ArgumentHelp("Options of imgcache-server.", valueName: "option"))
    var arguments: [String] = []

    private static let name = "imgcache-server"

    func run() throws {
        // Look next to this program, after resolving its name on PATH.
        if let own = Self.ownPath, let slash = own.lastIndex(of: "/") { replace(with: own[...slash] + Self.name) }
        replace(with: Self.name)
        let reason = String(cString: strerror(errno))
        Output.message(
            """
            imgcache: cannot start \(Self.name): \(reason)
            It is looked for beside imgcache and in PATH. In the source, scripts/build \(Self.name) builds it.

            """)
        Output.exit(.usage)
    }

    /// Returns only if the program does not exist.
    private func replace(with program: String) {
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        // This thread belongs to the runtime, which blocks signals; the mask would be inherited by the new program.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        execvp(program, &words)
    }

    private static var ownPath: String? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }
}
