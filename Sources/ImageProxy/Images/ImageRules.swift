import HTTPSemantics
package import HTTPTypes
package import ImageCache
package import URLSigning

/// The rules for images and their originals.
package struct ImageRules: Sendable {
    /// The identity of the rules of one configuration.
    final class Identity: Sendable {}

    let identity = Identity()
    let origin: OriginBase
    /// The beginning of originals' paths in place of which the origin's base stands.
    package var prefix = PathPrefix.root
    /// The namespace in which the origin's files are stored; nil: the common one (``OriginGate/namespace``).
    package var namespace: String?
    /// The host and port that `origin` connects to.
    package var originEndpoint: AllowedHosts.Endpoint?
    /// Those of the service's other origins: no pattern of ``allowedHosts`` includes them, only their names do.
    package var otherOrigins: Set<AllowedHosts.Endpoint> = []
    package var allowedHosts = AllowedHosts([])
    /// The values that are allowed in URLs.
    package var restrictions = ImageRestrictions()
    /// The named options, and the default ones.
    package var presets = ImagePresets()
    /// The verifier of signatures; nil: they are not required.
    package var signer: URLSigner?
    /// The limits for originals: pixels, bytes, memory, CPU time.
    package var limits = DecodingLimits()
    /// The treatment of images whose original has damaged data.
    package var damaged = DamagedImages.serve
    /// The treatment of originals that are SVGs.
    package var svg = SVGHandling.refuse
    /// The marks of the option `watermark`, by name.
    package var watermarks: [String: ImageWatermark] = [:]
    /// True if clients' hints choose what URLs leave open; ``presets`` must take them, too.
    package var usesClientHints = false
    /// Images in place of errors.
    package var fallbacks = FallbackImages()
    /// The seconds for which an original that is missing or cannot be used is not asked for again; 0: none.
    package var negativeLifetime = 10.0
    /// The options for fetching originals.
    package var transfer = TransferOptions()
    /// The fields of requests to origins: equal for all clients, which share the response.
    package var fields: HTTPFields = [.accept: "image/webp, image/png, image/jpeg"]
    /// The name in Via and Cache-Status.
    package var name = "imgcache"
    /// True to add the duration in Server-Timing.
    package var tellsTiming = false

    /// - Parameter origin: The origin's URL without a trailing slash.
    package init(origin: String) { self.init(origin: OriginBase(origin)) }

    package init(origin: OriginBase) { self.origin = origin }
}

/// The treatment of an image whose original has damaged data.
package enum DamagedImages: String, Sendable, CaseIterable {
    /// It is served, with a freshness lifetime of one minute.
    case serve
    /// It is refused with 422 (Unprocessable Content).
    case refuse
}

/// The treatment of originals that are SVGs.
package enum SVGHandling: String, Sendable, CaseIterable {
    /// They are refused with 415 (Unsupported Media Type).
    case refuse
    /// They are sent unchanged to requests that ask for no other image than the original; others are refused.
    case pass
}

/// The image that a URL and the client's fields request.
struct ImageOperation: Sendable {
    let request: ImageRequest
    let options: ImageOptions
    let encoding: ThumbnailEncoding
    /// True if the format depends on Accept.
    let variesOnAccept: Bool
    /// The names of the client hints on which the image depends.
    var hintNames: [String] = []
    let original: OriginalReference
    /// The expiry of the URL's signature, in seconds since 1970.
    let expiry: Int64?
}

/// The reason for refusing an image request.
enum ImageRequestError: Error, Equatable {
    case invalidOption(ImageOptionError)
    case signature(SignatureError)
    /// Images of that host are not allowed.
    case host
    case width(Int?)
}

extension ImageRules {
    /// Parses a request target that begins with `/image/`.
    /// - Parameters:
    ///   - accept: The lines of the client's `Accept`.
    ///   - hints: The client's hints, which count with ``usesClientHints``.
    ///   - now: Seconds since 1970, for signatures.
    func operation(
        target: String, accept: some Sequence<String>, hints: ClientHints = ClientHints(), now: Int64
    ) throws(ImageRequestError) -> ImageOperation {
        let verified = try verify(target, now: now)
        let parsed: ImageTarget
        if let description = try description(verified) { return description }
        let reading: ImagePresets.Reading
        do throws(ImageOptionError) {
            parsed = try ImageTarget(verified.target[...].dropFirst(Router.imagePrefix.utf8.count), below: prefix)
            reading = try presets.options(parsed.options)
        } catch {
            throw .invalidOption(error)
        }
        var options = try restrictions.checked(reading)
        var hintNames: [String] = []
        if usesClientHints { (options, hintNames) = try restrictions.applying(hints, to: reading, options) }
        var file = FileRequest(try url(of: parsed.original))
        file.fields = fields
        file.transfer = transfer
        file.owner = namespace(of: parsed.original)
        var request = ImageRequest(file, options.decodedSizing)
        do throws(ImageOptionError) { request.processors = try options.processors(watermarks) } catch {
            throw .invalidOption(error)
        }
        request.decoder.limits = limits
        request.decoder.keepsMetadata = options.keepsMetadata
        request.decoder.frame = options.frame ?? 0
        request.keepsAnimation = options.keepsAnimation
        let varies = options.format.varies
        return ImageOperation(
            request: request, options: options,
            encoding: options.encoding(for: varies ? AcceptedFormats(accept) : AcceptedFormats()),
            variesOnAccept: varies, hintNames: hintNames, original: OriginalReference(parsed.original, below: prefix),
            expiry: verified.expiry)
    }

    func verify(_ target: String, now: Int64) throws(ImageRequestError) -> (target: String, expiry: Int64?) {
        guard let signer else { return (target, nil) }
        do throws(SignatureError) {
            let verified = try signer.verify(target: target, now: now)
            return (verified.target, verified.expiry)
        } catch {
            throw .signature(error)
        }
    }

    /// The URL under which the store knows it: see ``OriginBase``.
    func url(of original: ImageTarget.Original) throws(ImageRequestError) -> String {
        switch original {
        case .path(let path):
            guard let url = origin.url(for: path) else { throw .invalidOption(Self.badPath) }
            return url
        case .url(let text, let endpoint):
            guard allows(endpoint) else { throw .host }
            guard let url = try? HTTPURL(text) else { throw .invalidOption(Self.badPath) }
            // The base path also applies to the origin's own host name.
            guard endpoint != originEndpoint || origin.contains(url) else { throw .host }
            return url.normalized
        case .invalidURL: throw .host
        }
    }

    private static let badPath = ImageOptionError(
        code: "bad-target", message: "A path must be percent-encoded, and stay below the origin's.")

    /// The namespace of an original: files of other hosts are the same for all origins.
    func namespace(of original: ImageTarget.Original) -> String? {
        if case .url(_, let endpoint) = original, endpoint != originEndpoint { return nil }
        return namespace
    }

    /// Returns true if originals of that host are allowed.
    package func allows(_ endpoint: AllowedHosts.Endpoint) -> Bool { verdict(on: endpoint) != .refused }

    /// The verdict on an endpoint: those of origins may be at any address.
    package func verdict(on endpoint: AllowedHosts.Endpoint) -> AddressPolicy.Verdict {
        if endpoint == originEndpoint { return .anyAddress }
        if otherOrigins.contains(endpoint) { return allowedHosts.names(endpoint) ? .anyAddress : .refused }
        return allowedHosts.contains(endpoint) ? .publicAddress : .refused
    }
}
