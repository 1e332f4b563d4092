import ConcurrencyPrimitives
import DiskStore

/// A file that was made from a stored body, such as the checksums of its blocks. It remains readable while this value exists.
package enum DerivedFile: Sendable {
    case stored(StoredFile)
    /// The file could not be stored: the body has been replaced, or the store is full.
    case bytes([UInt8])

    /// An open file in the store.
    package struct StoredFile: Sendable {
        fileprivate let body: StoredBody

        package var descriptor: Int32 { body.descriptor }
        /// The length in bytes.
        package var size: Int64 { body.size }
    }
}

extension DownloadCache {
    /// Files are made one after another, so that many requests take one processor at most.
    private static let making = BlockingExecutor(width: 1)

    /// The file of a kind that is made from a stored body. The file is stored, and removed with the body.
    ///
    /// - Parameters:
    ///   - kind: The name of the kind; a stored response has one file of each.
    ///   - make: Makes the file; `nil` if it cannot.
    package func derivedFile(
        _ kind: String, of file: CachedFile, make: @escaping @Sendable (CachedFile) -> [UInt8]?
    ) async throws(ImageCacheError) -> DerivedFile? {
        let stored = try await executor.run { [self] () throws(ImageCacheError) in try derivedFile(kind, of: file) }
        if let stored { return stored }
        guard !Task.isCancelled else { throw .cancelled }
        return try await Self.making.run { [self] () throws(ImageCacheError) in
            // An earlier request may have made it.
            if let stored = try derivedFile(kind, of: file) { return stored }
            guard let bytes = make(file) else { return nil }
            let original = file.body.entry
            let record = DerivedImageRecord(
                original: original.id, width: 0, height: 0, format: nil, damage: nil,
                response: ResponseRecord(url: original.url, response: file.response))
            guard pipeline.store(bytes, record, kind, file, file.generation),
                let stored = try derivedFile(kind, of: file)
            else { return .bytes(bytes) }
            return stored
        }
    }

    private func derivedFile(_ kind: String, of file: CachedFile) throws(ImageCacheError) -> DerivedFile? {
        guard let request = file.body.entry.key.request else { return nil }
        do throws(StoreError) {
            guard let entry = try fetcher.store.entry(for: EntryKey(.derivedImages(request)), variant: kind),
                DerivedImageRecord(decoding: entry.metadata)?.original == file.body.entry.id,
                let body = try fetcher.store.open(entry)
            else { return nil }
            try fetcher.store.touch(entry)
            return .stored(DerivedFile.StoredFile(body: body))
        } catch {
            throw ImageCacheError(error)
        }
    }
}
