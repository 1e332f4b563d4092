import ConcurrencyPrimitives
import DiskStore
import FoundationEssentials
import HTTPCaching
import TextIdentity

/// Values that the application makes itself.
extension DownloadCache {
    /// Stores a value under a key of the application's own, as JSON, in place of what was there.
    ///
    /// It is subject to the store's limits as responses are, belongs to its owner, and goes with all that is its owner's (``RemovalTarget/owner(_:)``). Other processes
    /// on the directory see it at once.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: Any text; compared byte for byte.
    ///   - owner: Whose value it is: those of one owner are never seen by another. Default: nobody's in particular.
    ///   - lifetime: For how long it is used; an expired one is evicted before all that is not. Default: until it is evicted.
    ///   - version: The version of the type's format; a look-up for another one does not find it, and the first use of another one
    ///     removes all values of the type that were stored with this one.
    /// - Throws: ``ImageCacheError`` with code `store`, or ``ImageCacheError/Code/undecodableValue`` when it cannot be encoded.
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

    /// The value that was stored under a key, or why there is none that may be used.
    ///
    /// One that is damaged, or was stored for another version, is removed.
    ///
    /// - Parameters:
    ///   - key: As it was stored.
    ///   - type: The value's type.
    ///   - owner: As it was stored.
    ///   - version: As it was stored.
    /// - Throws: ``ImageCacheError`` with code `store` when the store cannot be read.
    public func value<Value: Decodable & Sendable>(
        forKey key: String, as type: Value.Type = Value.self, owner: String? = nil, version: String? = nil
    ) async throws(ImageCacheError) -> ValueLookup<Value> {
        let place = ValuePlace(key, owner: owner)
        // Behind the look-up, which tells why the value is not used.
        defer { use(version.map { ValueFormat(ofStored: type, version: $0) }) }
        if let held = values.held(memoryKey(place, version, type))?.value as? Value { return .found(held) }
        return try await executor.run { [self] () throws(ImageCacheError) in
            do throws(StoreError) { return try stored(place, version, type) } catch { throw ImageCacheError(error) }
        }
    }

    /// Removes the value that is stored under a key. False when there was none.
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
            // No look-up will ever find it again.
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

    /// Replaces what is stored. Only a removal that comes between two looks is in the way, and what comes after it counts.
    private func commit(
        _ bytes: [UInt8], _ record: ValueRecord, _ format: ValueFormat?, _ place: ValuePlace
    ) throws(StoreError) -> (entry: StoredEntry, generation: Generation) {
        // Each further round is a removal by somebody else.
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
            checked: Date(timeIntervalSince1970: record.stored))
        values.keep(held, for: memoryKey(place, record.version, Value.self), cost: cost)
    }

    private func memoryKey(_ place: ValuePlace, _ version: String?, _ type: Any.Type) -> ValueMemory.Key {
        ValueMemory.Key(stored: place.key, version: version, as: type)
    }
}

/// Where a value of the application's own is stored.
private struct ValuePlace: Sendable {
    let key: EntryKey
    /// Where it would be if it were nobody's; `nil` when it is.
    let keyOfNobody: EntryKey?
    /// Its name in listings, and what is invalidated.
    let resource: String

    init(_ text: String, owner: String?) {
        let name = text.asBytes
        key = EntryKey(.value(name, owner.map { .owner($0.asBytes) } ?? .shared))
        keyOfNobody = owner == nil ? nil : EntryKey(.value(name, .shared))
        resource = "value:" + text
    }
}
