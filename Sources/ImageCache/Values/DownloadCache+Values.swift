import ConcurrencyPrimitives
import DiskStore
public import FoundationEssentials
import HTTPCaching
import Logging
public import MemoryCache

extension DownloadCache {
    /// The value decoded from the response to a request. Decoded values are kept in memory; other responses come from the store or the
    /// origin by the same rules as in ``file(for:)-(FileRequest)``.
    ///
    ///     let users = try await cache.value(for: "https://api.example.com/users", as: [User].self, version: "3") { body in
    ///         try JSONDecoder().decode([User].self, from: body.data)
    ///     }
    ///
    /// A stored response with another version is not used. The first call with a version also removes, in the background, all responses
    /// that were stored with other versions of the type. The same holds for ``Configuration/applicationVersion``, but those entries are
    /// removed when the cache is opened.
    ///
    /// - Parameters:
    ///   - request: The request. A response larger than ``Configuration/maxValueSize`` bytes is an error.
    ///   - type: The value's type. Values in memory are identified by request, type and version. Use different types to
    ///     decode the same response in different ways.
    ///   - version: The version of the type's format. Default: any.
    ///   - cost: The cost of the value in memory in bytes, given the body's length. Default: the body's length.
    ///   - decode: Decodes the body. If it throws for a stored body, the response is fetched again from the origin once, unless the
    ///     request forbids that.
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, or ``ImageCacheError/Code/undecodableValue`` with the decoder's error as its
    ///   cause.
    public func value<Value: Sendable>(
        for request: FileRequest, as type: Value.Type = Value.self, version: String? = nil,
        cost: @Sendable (_ value: Value, _ bytes: Int) -> Int = { $1 },
        decode: @escaping @Sendable (ValueData) throws -> Value
    ) async throws(ImageCacheError) -> CachedValue<Value> {
        var request = request
        setVersion(version, of: &request)
        request.format = version.map { ValueFormat(ofResponse: type, version: $0) }
        defer { use(request.format) }
        let key = ValueMemory.Key(request, as: type, by: fetcher.rules)
        if let value = values.held(key, for: request)?.value as? Value {
            return CachedValue(value: value, source: .memory, unusedReason: nil)
        }
        request.transfer.maxFileSize = min(request.transfer.maxFileSize ?? .max, configuration.maxValueSize)
        var file = try await file(for: request)
        var reason = file.unusedReason
        var decoded = try await decodedBody(file, decode)
        if case .failure = decoded, file.isFromStore, request.mayAskOrigin {
            request.policy = .reloadIgnoringLocalCacheData
            file = try await self.file(for: request)
            reason = .damaged
            decoded = try await decodedBody(file, decode)
        }
        switch decoded {
        case .success(let value):
            keep(value, of: file, request, key, cost: cost(value, Int(clamping: file.size)))
            return CachedValue(value: value, source: .response(file.source), unusedReason: reason)
        case .failure(let error):
            throw ImageCacheError(
                .undecodableValue, url: request.urlWithoutUserinfo, message: "the body cannot be decoded: \(error)",
                cause: error)
        }
    }

    /// The value decoded from a JSON response; see ``value(for:as:version:cost:decode:)``.
    public func value<Value: Decodable & Sendable>(
        for request: FileRequest, as type: Value.Type = Value.self, version: String? = nil
    ) async throws(ImageCacheError) -> CachedValue<Value> {
        try await value(for: request, as: type, version: version) { body in
            try JSONDecoder().decode(type, from: body.data)
        }
    }

    /// The text of a response, decoded by its charset; see ``TextDecoding``.
    public func text(for request: FileRequest) async throws(ImageCacheError) -> CachedValue<String> {
        try await value(for: request, as: String.self) { try $0.text() }
    }

    /// The bytes of a response. Bodies of at most 256 KiB are kept in memory within the limits of ``Configuration/values``.
    public func data(for request: FileRequest) async throws(ImageCacheError) -> CachedValue<Data> {
        try await value(
            for: request, as: Data.self, cost: { $1 <= Int(ValueMemory.fileSizeLimit) ? $1 : .max }, decode: { $0.data }
        )
    }

    /// The statistics of decoded values and small files in memory.
    public var valueStatistics: MemoryCacheStatistics { values.statistics }

    // MARK: Parts

    /// Removes the entries of other versions of the application in the background.
    func removeOtherVersions() {
        guard let version = configuration.applicationVersion, !configuration.store.isReadOnly else { return }
        let (store, logger) = (fetcher.store, configuration.logger)
        Task(executorPreference: executor, priority: .background) {
            do throws(StoreError) {
                let count = try store.removeVersions(except: version)
                if count > 0 { logger.info("removed \(count) values of other versions of the application") }
            } catch  where error.code != .closed {
                logger.warning("values of other versions of the application cannot be removed: \(error)")
            } catch {}
        }
    }

    /// On the first use of a format in this process, removes the entries of other versions of its type in the background.
    func use(_ format: ValueFormat?) {
        guard let format, !configuration.store.isReadOnly, values.isFirstUse(of: format) else { return }
        let (store, logger) = (fetcher.store, configuration.logger)
        Task(executorPreference: executor, priority: .background) {
            do throws(StoreError) {
                let count = try store.removeFormats(except: format)
                if count > 0 { logger.info("removed \(count) values of other versions of their format") }
            } catch  where error.code != .closed {
                logger.warning("values of other versions of their format cannot be removed: \(error)")
            } catch {}
        }
    }

    /// Sets the version that a stored response must have: a combination of the versions of the application, the value and the freshness
    /// override.
    private func setVersion(_ version: String?, of request: inout FileRequest) {
        let parts = [configuration.applicationVersion, version, request.freshnessOverride?.version]
        guard parts.contains(where: { $0 != nil }) else { return }
        let text = parts.map { $0.map { "\($0.utf8.count):\($0)" } ?? "-" }.joined(separator: " ")
        request.version = text
        request.applicationVersion = configuration.applicationVersion
        request.freshnessOverride?.version = text
    }

    private func decodedBody<Value: Sendable>(
        _ file: CachedFile, _ decode: @escaping @Sendable (ValueData) throws -> Value
    ) async throws(ImageCacheError) -> Result<Value, any Error> {
        let limit = configuration.maxValueSize
        guard file.size <= limit else {
            throw ImageCacheError(
                .store(.tooLarge), url: file.finalURL,
                message: "a body of \(file.size) bytes is larger than the \(limit) that a value may be made of")
        }
        return try await executor.run { () throws(ImageCacheError) in
            let bytes: [UInt8]?
            do throws(StoreError) { bytes = try file.body.all() } catch { throw ImageCacheError(error) }
            return Result {
                guard let bytes else {
                    throw ImageCacheError(.wrongBytes, path: file.path, message: "the body was cut")
                }
                return try decode(ValueData(data: Data(bytes), response: file.response))
            }
        }
    }

    private func keep<Value: Sendable>(
        _ value: Value, of file: CachedFile, _ request: FileRequest, _ key: ValueMemory.Key, cost: Int
    ) {
        // The lifetime of another URL's response says nothing about this one.
        guard file.isStored, !file.isDeduplicated, request.isPlainGet, cost < .max else { return }
        let held = ValueMemory.Held(
            value, file.generation, file.body.entry,
            freshUntil: file.freshUntil(fetcher.now(), fetcher.rules, request.freshnessOverride),
            responseTime: file.response.responseTime)
        values.keep(held, for: key, cost: cost)
    }
}

extension CachedFile {
    /// True if the body was stored before the request.
    fileprivate var isFromStore: Bool { [.disk, .remote, .stale, .revalidated].contains(source) }

    /// The reason why the stored response was not used, or `nil` if it was used or the request forbade its use.
    public var unusedReason: UnusedReason? { cacheStatus.unusedReason }
}

extension FileRequest {
    /// False if the policy or `only-if-cached` (RFC 9111 section 5.2.1.7) forbids a request to the origin.
    fileprivate var mayAskOrigin: Bool {
        policy != .returnCacheDataDontLoad && !RequestDirectives(fields).onlyIfCached
    }
}
