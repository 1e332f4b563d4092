import Foundation
import Glibc

/// A real Apache httpd on an ephemeral port of 127.0.0.1, with its own folder. It is stopped when released.
public final class Apache: Sendable {
    public let port: UInt16
    private let directory: TestDirectory
    private let process: ChildProcess

    /// The folder whose files it serves.
    public var root: String { directory.path("root") }

    private static let binary = ["/usr/sbin/apache2", "/usr/sbin/httpd"].first { (path: String) in
        access(path, X_OK) == 0
    }
    private static let modules = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules"].first { (path: String) in
        access(path, F_OK) == 0
    }

    /// The reason why it is unavailable here, or nil: for `.enabled(if:)`.
    public static let unavailableReason: String? =
        binary != nil && modules != nil ? nil : "Apache httpd is not installed (apt install apache2-bin)"

    /// - Parameter directives: for the whole server, after its own.
    public init(directives: String = "") async throws {
        guard let binary = Self.binary, let modules = Self.modules else {
            throw TestSetupFailure(Self.unavailableReason ?? "")
        }
        directory = try TestDirectory()
        // As root, httpd serves as another user, who must be able to enter.
        chmod(directory.path, 0o755)
        for name in ["root", "logs"] {
            try FileManager.default.createDirectory(atPath: directory.path(name), withIntermediateDirectories: true)
        }
        // -X: one process in the foreground. The workers of a killed parent would live on.
        (process, port) = try await ChildProcess.server("Apache httpd", announcedBy: directory.path("httpd.pid")) {
            [directory] port in
            let configuration = try directory.write(
                Self.configuration(port: port, directory: directory.path, modules: modules, directives),
                to: "httpd.conf")
            return try ChildProcess(
                binary, ["-X", "-f", configuration], environment: ProcessInfo.processInfo.environment)
        }
    }

    /// The URL of a file under `root`.
    public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Puts a file with that content under `root`, last modified so many seconds ago.
    public func serve(_ content: Content, as name: String, age: Double = 0) throws {
        unlink("\(root)/\(name)")
        try content.write(to: "\(root)/\(name)")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: "\(root)/\(name)")
    }

    /// The requests that are over: `METHOD PATH STATUS`, in the order in which they ended.
    ///
    /// - Parameter count: waits until there are so many, or a minute is over: one is logged after its answer.
    public func requests(atLeast count: Int) async throws -> [String] {
        try await AccessLog(path: directory.path("logs/access")).lines(atLeast: count)
    }

    private static func configuration(port: UInt16, directory: String, modules: String, _ directives: String) -> String
    {
        let names = [
            "mpm_event", "authz_core", "log_config", "headers", "expires", "deflate", "filter", "mime", "unixd",
        ]
        let loads = names.filter { access("\(modules)/mod_\($0).so", F_OK) == 0 }
            .map { "LoadModule \($0)_module \(modules)/mod_\($0).so" }.joined(separator: "\n")
        return """
            ServerRoot \(directory)
            ServerName 127.0.0.1
            Listen 127.0.0.1:\(port)
            PidFile \(directory)/httpd.pid
            DefaultRuntimeDir \(directory)
            ErrorLog /dev/stderr
            \(loads)
            User nobody
            Group nogroup
            StartServers 1
            ServerLimit 1
            LogFormat "%m %U %>s" tests
            CustomLog \(directory)/logs/access tests
            TypesConfig /dev/null
            DocumentRoot \(directory)/root
            <Directory \(directory)/root>
                Require all granted
            </Directory>
            \(directives)
            """
    }
}
