import ConcurrencyPrimitives
import Foundation
import Glibc
import TestSupport
import Testing

/// The built `imgcache-server`, which is next to the test bundle, in front of an origin, on a free port.
final class ServerProcess: Sendable {
    let port: UInt16
    let directory: TestDirectory
    let process: ChildProcess

    static let executable = CommandRunner.built("imgcache-server")

    /// Starts the server and waits until it listens.
    ///
    /// - Parameters:
    ///   - origin: The origin, or nil to use those of a configuration file.
    ///   - directory: The directory of an earlier server's store, or `nil` for a new one.
    init(
        origin: String?, _ options: String..., environment: [String: String] = [:],
        directory: TestDirectory? = nil, executable: String = ServerProcess.executable, leading: [String] = []
    ) async throws {
        let directory = try directory ?? TestDirectory()
        self.directory = directory
        var variables = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("IMGCACHE_") && !$0.key.lowercased().hasSuffix("_proxy")
        }
        variables["HOME"] = directory.path
        process = try ChildProcess(
            executable,
            leading + (origin.map { ["--origin", $0] } ?? []) + ["--listen", "127.0.0.1:0"]
                + Self.defaults(options, cache: directory.path("cache")) + options,
            environment: variables.merging(environment) { $1 })
        guard await process.says("listening on 127.0.0.1:") else {
            throw TestSetupFailure("the server does not start: \(process.errorOutput)")
        }
        let after = process.errorOutput.components(separatedBy: "listening on 127.0.0.1:").last ?? ""
        guard let port = UInt16(after.prefix { $0.isNumber }) else {
            throw TestSetupFailure("no port: \(process.errorOutput)")
        }
        self.port = port
    }

    /// Has it shut down, which must succeed.
    func stop() async {
        process.send(signal: SIGTERM)
        let ending = await process.end()
        #expect(ending == .exited(0), "\(ending): \(process.errorOutput)")
    }

    /// The most memory that it has had resident so far, in bytes.
    var peakMemory: Int { memory("VmHWM:") }

    /// The memory that it has resident now, in bytes.
    var residentMemory: Int { memory("VmRSS:") }

    private func memory(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return (Int(line.split(separator: " ").dropFirst().first ?? "") ?? .max >> 10) << 10
    }

    /// The defaults for tests. An origin that a test delays must not time out because the machine is busy.
    private static func defaults(_ options: [String], cache: String) -> [String] {
        [("--admin", "off"), ("--cache-dir", cache), ("--origin-timeout", "10min")].flatMap { name, value in
            options.contains(name) ? [] : [name, value]
        }
    }

    /// Lines of the access log on standard output, as objects.
    var log: [[String: any Sendable]] {
        process.output.split(separator: "\n").compactMap { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: any Sendable]
        }
    }

    /// Waits until the log satisfies the condition.
    func logs(_ condition: ([[String: any Sendable]]) -> Bool) async -> Bool {
        await eventually { condition(log) }
    }
}
