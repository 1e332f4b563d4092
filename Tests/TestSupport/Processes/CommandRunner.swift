import Foundation

/// Runs the built `imgcache`, which is next to the test bundle, as a real process on a cache directory.
public struct CommandRunner: Sendable {
    /// The result of one run.
    public struct Outcome: Sendable, CustomStringConvertible {
        public let ending: ChildProcess.Ending
        public let outputBytes: [UInt8]
        public let errorOutput: String

        public var output: String { String(printing: outputBytes) }

        /// Lines of standard output.
        public var lines: [String] { output.split(separator: "\n").map(String.init) }

        /// Lines of standard output, empty ones included: one for each URL of a run.
        public var allLines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast() }

        /// Standard output as JSON objects, one a line.
        public var objects: [[String: any Sendable]] {
            lines.compactMap { line in
                (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: any Sendable]
            }
        }

        public var description: String { "\(ending)\nstdout: \(output)\nstderr: \(errorOutput)" }
    }

    /// The built command; `IMGCACHE_BINARY` names another.
    public static let executable: String = {
        ProcessInfo.processInfo.environment["IMGCACHE_BINARY"] ?? built("imgcache")
    }()

    /// The path of a program of the package, which is next to the test bundle.
    public static func built(_ name: String) -> String {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (bundle as NSString).deletingLastPathComponent + "/" + name
    }

    public var cacheDirectory: String
    public var workingDirectory: String?
    /// Variables that are added to the inherited environment, or replace inherited ones.
    public var environment: [String: String] = [:]

    public init(cacheDirectory: String, workingDirectory: String? = nil) {
        self.cacheDirectory = cacheDirectory
        self.workingDirectory = workingDirectory
    }

    /// Starts the command and returns at once. With a terminal, `$TERM` is xterm, unless ``environment`` has another one.
    public func start(
        _ arguments: [String], input: String? = nil, terminal: PseudoTerminal? = nil
    ) throws -> ChildProcess {
        var whole = wholeEnvironment
        if terminal != nil { whole["TERM"] = environment["TERM"] ?? "xterm" }
        return try ChildProcess(
            Self.executable, arguments, environment: whole, input: input,
            workingDirectory: workingDirectory, terminal: terminal)
    }

    /// Runs the command to its end; it is killed when it takes longer than `seconds`.
    public func run(
        _ arguments: [String], input: String? = nil, within seconds: Double = patience
    ) async throws -> Outcome {
        await Self.outcome(of: try start(arguments, input: input), within: seconds)
    }

    /// Runs a shell script in which `$IMGCACHE` is the command.
    public func shell(_ script: String, within seconds: Double = patience) async throws -> Outcome {
        await Self.outcome(of: try startShell(script), within: seconds)
    }

    /// Starts a shell script in which `$IMGCACHE` is the command, and returns at once.
    public func startShell(_ script: String) throws -> ChildProcess {
        var environment = wholeEnvironment
        environment["IMGCACHE"] = Self.executable
        return try ChildProcess(
            "/bin/bash", ["-c", script], environment: environment, workingDirectory: workingDirectory)
    }

    /// Waits for the end and gathers what it left.
    public static func outcome(of process: ChildProcess, within seconds: Double = patience) async -> Outcome {
        let ending = await process.end(within: seconds)
        return Outcome(ending: ending, outputBytes: process.outputBytes, errorOutput: process.errorOutput)
    }

    /// The test's own environment without what would change the command's behaviour by accident.
    private var wholeEnvironment: [String: String] {
        let disturbing: Set<String> = [
            "XDG_CACHE_HOME", "IMGCACHE_CAPACITY", "NETRC", "NO_COLOR", "COLUMNS", "LINES", "CURL_CA_BUNDLE",
            "SSL_CERT_FILE", "SSL_CERT_DIR",
        ]
        var result = ProcessInfo.processInfo.environment.filter {
            !disturbing.contains($0.key) && !$0.key.lowercased().hasSuffix("_proxy")
        }
        result["IMGCACHE_DIR"] = cacheDirectory
        return result.merging(environment) { $1 }
    }
}
