import Foundation
import Glibc

/// SeaweedFS on ephemeral ports of its own address, with its own folder. `scripts/seaweedfs` installs it.
///
/// A regular stop takes 16 seconds, so it is killed.
enum SeaweedFS {
    /// No origin of a test gets a port of this address, and requests that were meant for the store, before it has opened the port.
    static let address = "127.0.0.2"

    static let executable: String = {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["IMGCACHE_TEST_WEED"] { return path }
        let caches = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ?? "") + "/.cache"
        return caches + "/imgcache-tests/seaweedfs-4.48/bin/weed"
    }()

    /// Starts it in an empty folder, makes the bucket, and stores and reads an object. It is not ready if one of its servers has not got its port.
    static func start(in folder: String) async throws -> ObjectStore.Running {
        let ports = try freePorts(8)
        let process = try start(ports, in: folder)
        var isReady = try await makeBucket(filer: ports[4], process)
        if isReady { isReady = try await keeps(folder + "/s3.json", s3: ports[6], process) }
        return ObjectStore.Running(
            process: process, endpoint: "http://\(address):\(ports[6])", isReady: isReady, ports: ports)
    }

    /// Removes the sockets of programs with these ports, which a kill leaves. No option names their place.
    static func removeSockets(of ports: [UInt16]) {
        for program in ["master", "volume", "filer", "s3"] {
            for port in ports { unlink("/tmp/seaweedfs-\(program)-grpc-\(port).sock") }
        }
    }

    /// Free ports, all held until the last one is known.
    static func freePorts(_ count: Int) throws -> [UInt16] {
        let held = try (0..<count).map { _ in try Socket.listening(at: 0x7F00_0002) }
        for (socket, _) in held { socket.finish(reset: false) }
        return held.map(\.port)
    }

    /// Starts a program of it in a folder, in which `s3.json` has the keys.
    static func start(_ arguments: [String], in folder: String) throws -> ChildProcess {
        let identities = """
            {"identities": [{"name": "fleet",
              "credentials": [{"accessKey": "\(ObjectStore.accessKeyID)", "secretKey": "\(ObjectStore.secretAccessKey)"}],
              "actions": ["Admin", "Read", "Write", "List"]}]}
            """
        try identities.write(toFile: folder + "/s3.json", atomically: false, encoding: .utf8)
        var environment = ProcessInfo.processInfo.environment
        environment["HOME"] = folder
        environment["TMPDIR"] = folder
        environment["WEED_S3_SSE_KEY"] = String(repeating: "0f", count: 32)
        return try ChildProcess(executable, arguments, environment: environment, workingDirectory: folder)
    }

    /// Every port is given: each that is not is a fixed one, or another one plus 10,000.
    private static func start(_ ports: [UInt16], in folder: String) throws -> ChildProcess {
        try start(
            [
                "server", "-dir=\(folder)", "-ip=\(address)", "-ip.bind=\(address)", "-master.telemetry=false",
                "-master.port=\(ports[0])", "-master.port.grpc=\(ports[1])", "-master.volumeSizeLimitMB=256",
                "-master.electionTimeout=1s", "-master.heartbeatInterval=100ms", "-volume.port=\(ports[2])",
                "-volume.port.grpc=\(ports[3])", "-volume.max=20", "-volume.preStopSeconds=0", "-filer",
                "-filer.port=\(ports[4])", "-filer.port.grpc=\(ports[5])", "-filer.localSocket=\(folder)/filer.sock",
                "-s3", "-s3.port=\(ports[6])", "-s3.port.grpc=\(ports[7])", "-s3.localSocket=\(folder)/s3.sock",
                "-s3.config=\(folder)/s3.json", "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.autoCreateBucket=false",
            ], in: folder)
    }

    /// Makes the bucket, which is a folder of the filer, as soon as that responds; false when the server ends before.
    static func makeBucket(filer: UInt16, _ process: ChildProcess) async throws -> Bool {
        try await succeeds(
            ["-f", "-X", "POST", "http://\(address):\(filer)/buckets/\(ObjectStore.bucket)/"], while: process)
    }

    /// Stores a file by the S3 API, and reads it; false if that does not succeed.
    private static func keeps(_ file: String, s3: UInt16, _ process: ChildProcess) async throws -> Bool {
        let keys = "\(ObjectStore.accessKeyID):\(ObjectStore.secretAccessKey)"
        let signed = [
            "-f", "--aws-sigv4", "aws:amz:us-east-1:s3", "-u", keys, "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
        ]
        let url = "http://\(address):\(s3)/\(ObjectStore.bucket)/ready"
        for request in [["-T", file, url], ["-o", "/dev/null", url], ["-X", "DELETE", url]] {
            guard try await succeeds(signed + request, while: process) else { return false }
        }
        return true
    }

    /// Repeats a request of curl until it succeeds; false when the process that it asks ends before, or after two minutes.
    static func succeeds(_ request: [String], while process: ChildProcess) async throws -> Bool {
        let environment = ProcessInfo.processInfo.environment
        let deadline = ContinuousClock.now + .seconds(120)
        while process.ending == nil, ContinuousClock.now < deadline {
            let curl = try ChildProcess(
                "curl", ["-sS", "-m", "20", "--noproxy", "*"] + request, environment: environment)
            if await curl.end() == .exited(0) { return true }
            try await Task.sleep(for: .milliseconds(200))
        }
        return false
    }
}
