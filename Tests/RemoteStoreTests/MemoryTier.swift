import ConcurrencyPrimitives
import Digests
import FoundationEssentials

@testable import RemoteStore

/// Objects in memory.
final class MemoryTier: RemoteTier {
    private let objects = Locked<[String: [UInt8]]>([:])
    private let honoursConditions: Bool

    init(honoursConditions: Bool = true) { self.honoursConditions = honoursConditions }

    var keys: [String] { objects.withLock { $0.keys.sorted() } }

    func get(_ key: String) async throws(RemoteError) -> [UInt8]? { objects.withLock { $0[key] } }

    func read(_ key: String, unless tag: String?) async throws(RemoteError) -> RemoteReading {
        guard let bytes = try await get(key) else { return RemoteReading(.absent) }
        let found = ShortSHA256.digest(of: bytes).hexadecimal
        return RemoteReading(found == tag ? .unchanged : .object(bytes), tag: found)
    }

    func head(_ key: String) async throws(RemoteError) -> Int64? { try await get(key).map { Int64($0.count) } }

    func put(_ bytes: [UInt8], at key: String, _ condition: RemoteCondition) async throws(RemoteError) -> Bool {
        objects.withLock { objects in
            if condition == .ifAbsent, honoursConditions, objects[key] != nil { return false }
            objects[key] = bytes
            return true
        }
    }

    func delete(_ key: String) async throws(RemoteError) { objects.withLock { $0[key] = nil } }

    func list(_ prefix: String, after: String?) async throws(RemoteError) -> [RemoteListing] {
        objects.withLock { objects in
            objects.filter { $0.key.hasPrefix(prefix) && $0.key > after ?? "" }.sorted { $0.key < $1.key }
                .prefix(1000).map { RemoteListing(key: $0.key, size: Int64($0.value.count), modified: nil) }
        }
    }

    func lifecycle() async throws(RemoteError) -> LifecycleRules { throw .status(501, code: "NotImplemented") }

    func setLifecycle(_ rules: LifecycleRules) async throws(RemoteError) { throw .status(501, code: "NotImplemented") }
}
