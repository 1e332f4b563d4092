import ArgumentParser
import Fleet
import FoundationEssentials
import ImageCache
import RemoteStore
import Transfer

/// The location of the shared objects.
struct BucketOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The bucket and prefix, as for --remote.", valueName: "s3://bucket/prefix"))
    var place: String

    func validate() throws {
        do { _ = try S3Location(place) } catch { throw ValidationError("\(error)") }
    }
}

/// A bucket for interactive use, with longer time-outs than a cache.
struct SharedBucket: Sendable {
    let place: String
    let location: S3Location
    let tier: any RemoteTier
    private let transport: TransferEngine

    /// The largest object that is read, in bytes: the largest stored body and its head.
    private static let sizeLimit = 66 << 20

    init(_ place: String) throws(Failure) {
        var configuration: RemoteStoreConfiguration
        do { configuration = try RemoteStoreConfiguration(place) } catch {
            throw Failure(.usage, "\(place): \(error)")
        }
        configuration.connectTimeout = .seconds(5)
        configuration.firstByteTimeout = .seconds(30)
        configuration.readTimeout = .seconds(120)
        self.place = place
        location = configuration.location
        transport = TransferEngine()
        tier = S3Tier(configuration, over: transport, sizeLimit: Self.sizeLimit, now: { Date() })
    }

    func close() async { await transport.shutDown() }

    /// Runs requests to the store. A failure ends the command.
    func run<Value>(_ work: () async throws(RemoteError) -> Value) async throws(Failure) -> Value {
        do throws(RemoteError) { return try await work() } catch {
            let status: ExitStatus =
                switch error {
                case .status: .serverError
                case .damaged, .tooLong: .wrongBytes
                case .cancelled: .interrupted
                case .unreachable, .timeout, .digestUnavailable: .unreachable
                }
            throw Failure(status, "\(place): \(error)")
        }
    }

    /// Calls `visit` with each page of the listing of this package's objects, in the order of their keys.
    func pages(_ visit: ([(RemoteListing, ObjectClass)]) async throws(Failure) -> Void) async throws(Failure) {
        var after: String?
        while true {
            let page = try await run { () async throws(RemoteError) in
                try await tier.list(ObjectClass.others.prefix, after: after)
            }
            guard let last = page.last else { return }
            guard after.map({ last.key > $0 }) ?? true else {
                throw Failure(.wrongBytes, "\(place): the store's listing does not go on")
            }
            try await visit(page.compactMap { object in ObjectClass(key: object.key).map { (object, $0) } })
            after = last.key
        }
    }
}

/// Opens a bucket, runs `work`, and closes it.
func withBucket(_ options: BucketOptions, _ work: (SharedBucket) async throws -> Void) async throws {
    do {
        let bucket = try SharedBucket(options.place)
        do {
            try await work(bucket)
            await bucket.close()
        } catch {
            await bucket.close()
            throw error
        }
    } catch let failure as Failure {
        Output.error(failure.message)
        Output.exit(failure.status)
    }
}

/// A number of objects and their total size.
struct ObjectCount: Encodable {
    var objects = 0
    var bytes: Int64 = 0

    mutating func add(_ object: RemoteListing) {
        objects += 1
        bytes += object.size
    }
}

extension ObjectClass {
    /// The name of the class.
    var word: String {
        switch self {
        case .responses: "responses"
        case .images: "images"
        case .parts: "parts"
        case .leases: "leases"
        case .probes: "probes"
        case .others: "others"
        }
    }
}
