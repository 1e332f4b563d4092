import ImageCache
import Logging

extension RequestOptions {
    /// The request that all URLs of the run have in common.
    func template(caching: CachingOptions, messages: MessageOptions, delivery: Delivery) throws -> FileRequest {
        var request = FileRequest("")
        request.fields = fields
        request.policy = caching.policy
        request.resumes = !caching.noResume
        request.sha256 = sha256
        request.unstorable = delivery.needsStoredFile ? .refuse : .handOutKeepingPartial
        request.transfer = try transferOptions()
        if messages.verbose {
            request.trace = { head in
                Output.write(head.split(separator: "\n").map { "\(String($0).forTerminal)\n" }.joined(), to: 2)
            }
        }
        return request
    }

    private var fields: HTTPFields {
        var fields = HTTPFields()
        for header in headers {
            guard let colon = header.firstIndex(of: ":"), let name = HTTPField.Name(String(header[..<colon])) else {
                continue
            }
            let value = header[header.index(after: colon)...].drop { $0 == " " }
            fields.append(HTTPField(name: name, value: String(value)))
        }
        return fields
    }

    private func transferOptions() throws -> TransferOptions {
        var options = TransferOptions()
        options.userAgent = userAgent
        options.acceptsContentCoding = fields.contains(.acceptEncoding)
        options.netrc = netrc ? .default : .off
        options.proxy = proxy
        options.caFile = cacert
        options.insecure = insecure
        options.rateLimit = limitRate?.bytes
        options.maxFileSize = maxFilesize?.bytes
        options.maxTime = maxTime?.duration
        options.retry.maxTotalTime = retryMaxTime?.duration
        if let connectTimeout { options.connectTimeout = connectTimeout.duration }
        if let maxRedirs { options.maxRedirects = maxRedirs }
        if let retry { options.retry.maxRetries = retry }
        if let user {
            guard let colon = user.firstIndex(of: ":") else {
                throw Failure(.usage, "-u takes user:password; there is no terminal prompt for the password")
            }
            options.credentials = .init(
                user: String(user[..<colon]), password: String(user[user.index(after: colon)...]))
        }
        return options
    }
}

extension CachingOptions {
    var policy: CachePolicy {
        if refresh { return .reloadIgnoringLocalCacheData }
        if revalidate { return .reloadRevalidatingCacheData }
        if preferCached { return .returnCacheDataElseLoad }
        if let maxStale { return .maxStale(seconds: Int(maxStale.seconds)) }
        return offline ? .returnCacheDataDontLoad : .useProtocolCachePolicy
    }
}

extension ImageCache {
    /// The cache that the options of `fetch` describe.
    convenience init(store: StoreOptions, request: RequestOptions, quiet: Bool) throws {
        var configuration = Configuration()
        configuration.store.capacity = store.capacity?.bytes
        // One host is the usual case of a list: let it use all that was asked for.
        configuration.maxTransfers = request.parallel
        configuration.maxTransfersPerHost = request.parallel
        // Nothing stays behind to refresh what is stale: the command asks first, and falls back on it.
        configuration.revalidatesInBackground = false
        if quiet { configuration.logger.logLevel = .critical }
        try self.init(directory: store.directory, configuration: configuration)
    }
}
