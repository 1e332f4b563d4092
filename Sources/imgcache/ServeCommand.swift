import ArgumentParser
import Glibc

/// `imgcache serve …` becomes `imgcache-server …`: a program of its own, so that the command neither grows nor starts more slowly
/// by what only a server needs.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve an origin through the cache: a proxy that also makes images. Starts imgcache-server.",
        discussion: "Takes imgcache-server's options: imgcache serve --help lists them.",
        helpNames: []
    )

    @Argument(parsing: .captureForPassthrough, help: ArgumentHelp("Options of imgcache-server.", valueName: "option"))
    var arguments: [String] = []

    private static let name = "imgcache-server"

    func run() throws {
        // Beside this program, wherever its name on PATH leads.
        if let own = Self.ownPath, let slash = own.lastIndex(of: "/") { replace(with: own[...slash] + Self.name) }
        replace(with: Self.name)
        let reason = String(cString: strerror(errno))
        Output.message(
            """
            imgcache: cannot start \(Self.name): \(reason)
            It is looked for beside imgcache and in PATH. Build it with: swift build -c release --product \(Self.name)

            """)
        Output.exit(.usage)
    }

    /// Returns only when there is no such program.
    private func replace(with program: String) {
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        // This thread is one of the runtime's, which has signals blocked; the mask would outlive the change of programs.
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
