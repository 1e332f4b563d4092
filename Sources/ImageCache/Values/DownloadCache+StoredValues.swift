import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import TextIdentity

/// Values that the application creates.
extension DownloadCache {
    /// Stores a value as JSON under a key of the application, replacing the previous value.
    ///
    /// Values are subject to the limits of the store like responses, and ``RemovalTarget/owner(_:)`` removes them with their owner. Other
    /// processes that use the directory see a new value immediately.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Any text; compared by bytes.
    ///   - owner: The owner of the value. Owners do not see each other's values. Default: none.
    ///   - lifetime: The time for which the value may be used; expired values are evicted first. Default: until it is evicted.
    ///   - version: The version of the type's format. Look-ups with another version do not find the value. The first use of a version
    ///     removes all values of the type that were stored with other versions.
    /// - Throws: ``ImageCacheError`` with code `store`, or ``ImageCacheError/Code/undecodableValue`` if the value cannot be encoded.
    public func store<Value: Encodable & Sendable>(
        _ value: Value, for key: String, owner: String? = nil, lifetime: Duration? = nil, version: String? = nil
    ) async throws(ImageCacheError) {
        let place = ValuePlace(key, owner: owner)
        let format = version.map { ValueFormat(ofStored: Value.self, version: $0) }
        defer { use(format) }
        let record = ValueRecord(
            stored: fetcher.now(), lifetime: lifetime, version: version,
            applicationVersion: configuration.applicationVersion)
        let held = try await executor.run { [self] () throws(ImageCacheError) in
            let bytes: [UInt8]
            do { bytes = Array(try JSONEncoder().encode(value)) } catch {
                throw ImageCacheError(
                    .undecodableValue, message: "the value of \(key) cannot be encoded: \(error)", cause: error)
            }
            do throws(StoreError) {
                return try commit(bytes, record, format, place)
            } catch {
                throw ImageCacheError(error)
            }
        }
        keep(value, record, held.entry, held.generation, place, cost: Int(clamping: held.entry.size))
    }

    /// The value stored under a key, or the reason why there is no usable one.
    ///
    /// A value that is damaged, or was stored with another version, is removed.
    ///
    /// - Parameters:
    ///   - key: The key that the value was stored under.
    ///   - type: The value's type.
    ///   - owner: The owner that the value was stored for.
    ///   - version: The version that the value was stored with.
    /// - Throws: ``ImageCacheError`` with code `store` if the store cannot be read.
    public func value<Value: Decodable & Sendable>(
        forKey key: String, as type: Value.Type = Value.self, owner: String? = nil, version: String? = nil
    ) async throws(ImageCacheError) -> ValueLookup<Value> {
        let place = ValuePlace(key, owner: owner)
        // After the look-up, which reports a value of another version before it is removed.
        defer { use(version.map { ValueFormat(ofStored: type, version: $0) }) }
        if let held = values.held(memoryKey(place, version, type))?.value as? Value { return .found(held) }
        return try await executor.run { [self] () throws(ImageCacheError) in
            do throws(StoreError) { return try stored(place, version, type) } catch { throw ImageCacheError(error) }
        }
    }

    /// Removes the value stored under a key. Returns false if there is none.
    @discardableResult
    public func removeValue(forKey key: String, owner: String? = nil) async throws(ImageCacheError) -> Bool {
        let place = ValuePlace(key, owner: owner)
        return try await executor.run { [self] () throws(ImageCacheError) in
            try blocking.translating {
                try fetcher.store.remove([place.key], invalidating: .resource(place.resource)).entries > 0
            }
        }
    }

    // MARK: Parts

    private func stored<Value: Decodable & Sendable>(
        _ place: ValuePlace, _ version: String?, _ type: Value.Type
    ) throws(StoreError) -> ValueLookup<Value> {
        let generation = fetcher.store.generation(of: place.resource)
        guard let entry = try fetcher.store.entries(for: place.key).first else {
            let isNobodys = try place.keyOfNobody.map { key throws(StoreError) in
                try !fetcher.store.entries(for: key).isEmpty
            }
            return .unused(isNobodys == true ? .owner : .missing)
        }
        func damaged() throws(StoreError) -> ValueLookup<Value> {
            try fetcher.store.remove(entry)
            return .unused(.damaged)
        }
        guard let record = ValueRecord(decoding: entry.metadata) else { return try damaged() }
        let reason = record.unusedReason(
            version: version, applicationVersion: configuration.applicationVersion, now: fetcher.now())
        if let reason {
            // No later look-up with this version will find the value.
            if reason == .version { try fetcher.store.remove(entry) }
            return .unused(reason)
        }
        guard let bytes = try fetcher.store.open(entry)?.all(),
            let value = try? JSONDecoder().decode(type, from: Data(bytes))
        else { return try damaged() }
        try fetcher.store.touch(entry)
        keep(value, record, entry, generation, place, cost: bytes.count)
        return .found(value)
    }

    /// Replaces the stored value. If the value is removed while this writes, this tries again, as the write is later than the removal.
    private func commit(
        _ bytes: [UInt8], _ record: ValueRecord, _ format: ValueFormat?, _ place: ValuePlace
    ) throws(StoreError) -> (entry: StoredEntry, generation: Generation) {
        // Each further attempt follows a removal.
        for _ in 0..<64 {
            let generation = fetcher.store.generation(of: place.resource)
            var entry = NewEntry(
                key: place.key, url: place.resource, metadata: record.encoded, generation: generation)
            entry.expires = record.expires
            entry.version = record.applicationVersion
            entry.format = format
            let writer = try fetcher.store.beginBody(for: place.key)
            do throws(StoreError) {
                try writer.start(header: [], total: Int64(bytes.count))
                try writer.writeAll(bytes)
                let body = try writer.commit(entry)
                return (body.entry, body.generation ?? generation)
            } catch {
                try? writer.discard()
                guard error.code == .outdated else { throw error }
            }
        }
        throw StoreError(
            .outdated, "the value was removed again and again while it was stored", path: fetcher.store.directory)
    }

    private func keep<Value: Sendable>(
        _ value: Value, _ record: ValueRecord, _ entry: StoredEntry, _ generation: Generation, _ place: ValuePlace,
        cost: Int
    ) {
        let held = ValueMemory.Held(
            value, generation, entry, freshUntil: record.expires ?? .distantFuture,
            responseTime: Date(timeIntervalSince1970: record.stored))
        values.keep(held, for: memoryKey(place, record.version, Value.self), cost: cost)
    }

    private func memoryKey(_ place: ValuePlace, _ version: String?, _ type: Any.Type) -> ValueMemory.Key {
        ValueMemory.Key(stored: place.key, version: version, as: type)
    }
}

/// The place of an application's value in the store.
private struct ValuePlace: Sendable {
    let key: EntryKey
    /// The key without an owner; `nil` if ``key`` has none.
    let keyOfNobody: EntryKey?
    /// The name in listings, which is also the resource that removals invalidate.
    let resource: String

    init(_ text: String, owner: String?) {
        let name = text.asBytes
        key = EntryKey(.value(name, owner.map { .owner($0.asBytes) } ?? .shared))
        keyOfNobody = owner == nil ? nil : EntryKey(.value(name, .shared))
        resource = "value:" + text
    }
}
