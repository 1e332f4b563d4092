import Foundation
import Glibc

/// A small Ceph with its S3 gateway, as `scripts/radosgw` installs and runs it: stricter about requests than SeaweedFS.
enum RadosGateway {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../scripts/radosgw").standardized.path

    /// Starts it in an empty folder, and makes the bucket.
    static func start(in folder: String) async throws -> ObjectStore.Running {
        // It takes the ports that follow, too.
        let port = try SeaweedFS.freePorts(1)[0] % 40_000 + 20_000
        var environment = ProcessInfo.processInfo.environment
        environment.merge(ObjectStore.environment("")) { $1 }
        let process = try ChildProcess(
            "bash", ["-c", #"exec bash "$0" "$@" >&2"#, script, folder, "\(port)"], environment: environment)
        let endpoint = "http://127.0.0.1:\(port + 2)"
        var isReady = await process.says(endpoint, within: patience)
        if isReady {
            let keys = "\(ObjectStore.accessKeyID):\(ObjectStore.secretAccessKey)"
            let bucket = "\(endpoint)/\(ObjectStore.bucket)"
            // curl 7.88 leaves out the checksum of the content, here of none, which this store insists on.
            let checksum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            isReady = try await SeaweedFS.succeeds(
                [
                    "-f", "-X", "PUT", "--aws-sigv4", "aws:amz:us-east-1:s3", "-u", keys,
                    "-H", "x-amz-content-sha256: \(checksum)", bucket,
                ], while: process)
        }
        return ObjectStore.Running(process: process, endpoint: endpoint, isReady: isReady)
    }
}
