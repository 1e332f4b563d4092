import Foundation
import Glibc

/// A real S3-compatible store on 127.0.0.1 with its own folder, killed when released: SeaweedFS, or Ceph's radosgw with
/// `IMGCACHE_TEST_STORE=radosgw`.
public final class ObjectStore: Sendable {
    public static let accessKeyID = "fleet"
    public static let secretAccessKey = "a secret of the tests"
    /// The bucket that is there from the beginning.
    public static let bucket = "fleet"

    /// The environment of programs that share a store: the URL of its S3 API, and the keys.
    public static func environment(_ endpoint: String, secret: String = secretAccessKey) -> [String: String] {
        ["AWS_ENDPOINT_URL_S3": endpoint, "AWS_ACCESS_KEY_ID": accessKeyID, "AWS_SECRET_ACCESS_KEY": secret]
    }

    private static let isCeph = ProcessInfo.processInfo.environment["IMGCACHE_TEST_STORE"] == "radosgw"

    /// The reason why it is unavailable here, or nil: for `.enabled(if:)`.
    public static let unavailableReason: String? =
        isCeph || access(SeaweedFS.executable, X_OK) == 0 ? nil : "SeaweedFS is not installed (scripts/seaweedfs)"

    /// The reason why several nodes, or the bytes on the disk, are not to be had, or nil: they are SeaweedFS's.
    public static let seaweedUnavailableReason: String? = isCeph ? "the store is Ceph's" : unavailableReason

    struct Running {
        let process: ChildProcess
        let endpoint: String
        /// False when it ended before it responded.
        let isReady: Bool
        /// The ports of SeaweedFS.
        var ports: [UInt16] = []
    }

    /// The URL of its S3 API.
    public let endpoint: String
    private let directory: TestDirectory
    private let process: ChildProcess
    private let ports: [UInt16]

    /// Starts it, and makes the bucket.
    public init() async throws {
        directory = try TestDirectory()
        var failure = ""
        // The ports are free when they are looked for, and another process may take one before the server does.
        for attempt in 0..<5 {
            let folder = directory.path("\(attempt)")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let running = try await Self.isCeph ? RadosGateway.start(in: folder) : SeaweedFS.start(in: folder)
            if running.isReady {
                (process, endpoint, ports) = (running.process, running.endpoint, running.ports)
                return
            }
            running.process.send(signal: SIGKILL)
            failure = running.process.errorOutput
            SeaweedFS.removeSockets(of: running.ports)
        }
        throw TestSetupFailure("the object store does not start: \(failure.suffix(2000))")
    }

    deinit { SeaweedFS.removeSockets(of: ports) }

    /// The bytes that SeaweedFS's files have on the disk.
    public var storedBytes: Int64 { DiskUsage.bytes(at: directory.path) }

    /// Ends it at once.
    public func kill() async {
        process.send(signal: SIGKILL)
        _ = await process.end()
    }
}
