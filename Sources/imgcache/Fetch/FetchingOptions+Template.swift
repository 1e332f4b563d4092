import HTTPSemantics
import ImageCache
import Units

extension FetchingOptions {
    /// The request without a URL, common to all URLs of the run.
    ///
    /// - Parameter mayBeUnstorable: True to fetch and deliver responses that must not be stored.
    func template(mayBeUnstorable: Bool) throws -> FileRequest {
        var template = try request.template(owner: whose.owner, isTraced: messages.verbose)
        template.key = keys.key
        template.policy = caching.policy
        template.resumes = !caching.noResume
        template.sha256 = request.sha256
        template.noStoreBehavior = mayBeUnstorable ? .deliverKeepingPartial : .fail
        return template
    }
}

extension RequestOptions {
    /// A request without a URL, with the fields and the transfer options of the command line.
    ///
    /// - Parameter isTraced: True to print request and response heads.
    func template(owner: String?, isTraced: Bool) throws -> FileRequest {
        var template = FileRequest("")
        template.owner = owner
        template.fields = HeaderLines.fields(headers)
        template.transfer = try transferOptions()
        if isTraced {
            template.trace = { head in
                Output.message(head.split(separator: "\n").map { "\(String($0).forTerminal)\n" }.joined())
            }
        }
        return template
    }

    func transferOptions() throws -> TransferOptions {
        var options = TransferOptions()
        options.userAgent = userAgent
        options.acceptsContentCoding = HeaderLines.fields(headers).contains(.acceptEncoding)
        options.netrc = netrc ? .default : .off
        options.proxy = route.proxy
        options.caFile = route.cacert
        options.clientCertificate = certificate
        options.cookieFile = cookies
        options.insecure = insecure
        options.rateLimit = limitRate?.bytes
        if let segments { options.maxSegments = segments }
        options.maxFileSize = maxFilesize?.bytes
        options.maxTime = maxTime?.duration
        options.minimumRate = speedLimit?.bytes
        if let speedTime { options.stallTimeout = speedTime.duration }
        options.retry.maxTotalTime = retryMaxTime?.duration
        if let connectTimeout { options.connectTimeout = connectTimeout.duration }
        if let maxRedirs { options.maxRedirects = maxRedirs }
        if let retry {
            options.retry.maxRetries = retry
            options.retry.maxUnreachableRetries = retry
        }
        if let user {
            guard let colon = user.firstIndex(of: ":") else {
                throw Failure(.usage, "-u must be user:password; passwords are not prompted for")
            }
            options.credentials = .init(
                user: String(user[..<colon]), password: String(user[user.index(after: colon)...]))
        }
        return options
    }
}

extension CachingOptions {
    /// The user of a command expects the current file, so a response without explicit freshness is revalidated.
    static let rules = CacheRules(usesHeuristics: false)

    var rules: CacheRules {
        var rules = heuristic ? CacheRules() : Self.rules
        rules.signatures.schemes += signatureParameters.map(SignatureParameters.Scheme.init(parameter:))
        return rules
    }

    fileprivate var policy: CachePolicy {
        if refresh { return .reloadIgnoringLocalCacheData }
        if revalidate { return .reloadRevalidatingCacheData }
        if preferCached { return .returnCacheDataElseLoad }
        if let maxStale { return .maxStale(seconds: Int(maxStale.seconds)) }
        return offline ? .returnCacheDataDontLoad : .useProtocolCachePolicy
    }
}
