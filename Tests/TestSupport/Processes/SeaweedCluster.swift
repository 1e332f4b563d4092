import Foundation
import Glibc

/// A SeaweedFS of several nodes: a master, three volume servers that keep two copies of everything, two filers that
/// follow each other, a gateway with the S3 API for each, and nginx in front of the gateways. All of them are killed when released.
public final class SeaweedCluster: Sendable {
    /// A part that can be killed.
    public enum Node: Sendable {
        case volumeServer(Int)
        /// A gateway and its filer.
        case gateway(Int)
    }

    /// The URL of the S3 API, by nginx.
    public let endpoint: String
    private let directory: TestDirectory
    private let master: ChildProcess
    private let volumeServers: [ChildProcess]
    private let filers: [ChildProcess]
    private let gateways: [ChildProcess]
    private let balancer: Nginx
    private let ports: [UInt16]

    public init() async throws {
        let directory = try TestDirectory()
        var failure = ""
        // The ports are free when they are looked for, and another process may take one before the server does.
        for attempt in 0..<5 {
            let ports = Ports(try SeaweedFS.freePorts(16))
            let start = Start(ports: ports, folder: directory.path("\(attempt)"))
            let master = try start.master()
            let volumeServers = try (0..<3).map { try start.volumeServer($0) }
            let filers = try (0..<2).map { try start.filer($0) }
            let hasBucket = try await SeaweedFS.makeBucket(filer: ports.filers[0], filers[0])
            // The other filer gets it from the first one.
            let bucket = "http://\(SeaweedFS.address):\(ports.filers[1])/buckets/\(ObjectStore.bucket)/"
            var areReady = hasBucket
            if areReady {
                areReady = try await SeaweedFS.succeeds(["-f", "-o", "/dev/null", bucket], while: filers[1])
            }
            let gateways = try areReady ? (0..<2).map { try start.gateway($0) } : []
            for (port, gateway) in zip(ports.gateways, gateways) where areReady {
                areReady = try await SeaweedFS.succeeds(
                    ["-o", "/dev/null", "http://\(SeaweedFS.address):\(port)/"], while: gateway)
            }
            if areReady {
                var options = Nginx.Options()
                options.backends = ports.gateways
                balancer = try await Nginx(options)
                endpoint = balancer.url("")
                (self.directory, self.master, self.volumeServers) = (directory, master, volumeServers)
                (self.filers, self.gateways, self.ports) = (filers, gateways, ports.all)
                return
            }
            let all = [master] + volumeServers + filers + gateways
            failure = all.map(\.errorOutput).joined()
            for process in all { process.send(signal: SIGKILL) }
            SeaweedFS.removeSockets(of: ports.all)
        }
        throw TestSetupFailure("SeaweedFS does not start: \(failure.suffix(2000))")
    }

    deinit { SeaweedFS.removeSockets(of: ports) }

    /// Ends a node at once.
    public func kill(_ node: Node) async {
        let processes =
            switch node {
            case .volumeServer(let number): [volumeServers[number]]
            case .gateway(let number): [gateways[number], filers[number]]
            }
        for process in processes { process.send(signal: SIGKILL) }
        for process in processes { _ = await process.end() }
    }

    /// The ports of all nodes: each program has one for HTTP and one for gRPC.
    private struct Ports {
        let all: [UInt16]

        init(_ all: [UInt16]) { self.all = all }

        var master: (http: UInt16, grpc: UInt16) { (all[0], all[1]) }
        var volumeServers: ArraySlice<UInt16> { all[2..<8] }
        var filers: [UInt16] { Array(all[8..<10]) }
        var filerCalls: [UInt16] { Array(all[10..<12]) }
        var gateways: [UInt16] { Array(all[12..<14]) }
        var gatewayCalls: [UInt16] { Array(all[14..<16]) }
    }

    /// Starts the nodes. Each has its own folder.
    private struct Start {
        let ports: Ports
        let folder: String

        private func start(_ name: String, _ arguments: [String]) throws -> ChildProcess {
            let path = "\(folder)/\(name)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            return try SeaweedFS.start(
                [arguments[0], "-ip=\(SeaweedFS.address)", "-ip.bind=\(SeaweedFS.address)"] + arguments.dropFirst(),
                in: path)
        }

        private var masterAddress: String { "\(SeaweedFS.address):\(ports.master.http).\(ports.master.grpc)" }

        func master() throws -> ChildProcess {
            try start(
                "master",
                [
                    "master", "-mdir=\(folder)/master", "-port=\(ports.master.http)", "-port.grpc=\(ports.master.grpc)",
                    "-volumeSizeLimitMB=64", "-electionTimeout=1s", "-heartbeatInterval=100ms", "-telemetry=false",
                    "-defaultReplication=001",
                ])
        }

        func volumeServer(_ number: Int) throws -> ChildProcess {
            let own = ports.volumeServers.dropFirst(2 * number).prefix(2).map { $0 }
            return try start(
                "volume-\(number)",
                [
                    "volume", "-dir=\(folder)/volume-\(number)", "-port=\(own[0])", "-port.grpc=\(own[1])",
                    "-master=\(masterAddress)", "-max=30", "-preStopSeconds=0",
                ])
        }

        func filer(_ number: Int) throws -> ChildProcess {
            let path = "\(folder)/filer-\(number)"
            return try start(
                "filer-\(number)",
                [
                    "filer", "-master=\(masterAddress)", "-port=\(ports.filers[number])",
                    "-port.grpc=\(ports.filerCalls[number])", "-defaultStoreDir=\(path)",
                    "-defaultReplicaPlacement=001", "-localSocket=\(path)/sock",
                ])
        }

        func gateway(_ number: Int) throws -> ChildProcess {
            let path = "\(folder)/gateway-\(number)"
            return try start(
                "gateway-\(number)",
                [
                    "s3", "-filer=\(SeaweedFS.address):\(ports.filers[number]).\(ports.filerCalls[number])",
                    "-port=\(ports.gateways[number])", "-port.grpc=\(ports.gatewayCalls[number])",
                    "-localSocket=\(path)/sock", "-config=\(path)/s3.json", "-port.iceberg=0", "-port.lance=0",
                    "-autoCreateBucket=false",
                ])
        }
    }
}
