package import HTTPCaching
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
    /// The beginning of originals' paths, which is replaced by the origin's base.
    package var prefix = PathPrefix.root
    /// The namespace of the origin's files in the store, or nil for the common one (``OriginGate/namespace``).
    package var namespace: String?
    /// The host and port that `origin` connects to.
    package var originEndpoint: AllowedHosts.Endpoint?
    /// The endpoints of the service's other origins. ``allowedHosts`` includes them only by name, not by a pattern.
    package var otherOrigins: Set<AllowedHosts.Endpoint> = []
    package var allowedHosts = AllowedHosts([])
    /// The values that are allowed in URLs.
    package var restrictions = ImageRestrictions()
    /// The presets and default options.
    package var presets = ImagePresets()
    /// Verifies signatures. nil if no signatures are required.
    package var signer: URLSigner?
    /// The limits for originals: pixels, bytes, memory, CPU time.
    package var limits = DecodingLimits()
    /// The treatment of images whose original is damaged.
    package var damaged = DamagedImages.serve
    /// The treatment of originals that are SVGs.
    package var svg = SVGHandling.refuse
    /// The watermarks by name, for the option `watermark`.
    package var watermarks: [String: ImageWatermark] = [:]
    /// True if client hints choose what URLs leave open. ``presets`` must also accept hints.
    package var usesClientHints = false
    /// The images that are sent for errors.
    package var fallbacks = FallbackImages()
    /// The seconds for which an original that is missing or unusable is not requested again, or 0 to disable.
    package var negativeLifetime = 10.0
    /// The lifetimes to send to clients instead of the original's.
    package var sentLifetimes = DerivedFreshness.SentLifetimes()
    /// The options for fetching originals.
    package var transfer = TransferOptions()
    /// The fields of requests to origins. They are the same for all clients, because clients share the response.
    package var fields: HTTPFields = [.accept: "image/webp, image/png, image/jpeg"]
    /// The name in Via and Cache-Status.
    package var name = "imgcache"
    /// True to add the duration in Server-Timing.
    package var tellsTiming = false

    /// - Parameter origin: The origin's URL without a trailing slash.
    package init(origin: String) { self.init(origin: OriginBase(origin)) }

    package init(origin: OriginBase) { self.origin = origin }
}

/// The treatment of an image whose original is damaged.
package enum DamagedImages: String, Sendable, CaseIterable {
    /// The image is served, with a freshness lifetime of one minute.
    case serve
    /// The request is rejected with 422 (Unprocessable Content).
    case refuse
}

/// The treatment of originals that are SVGs.
package enum SVGHandling: String, Sendable, CaseIterable {
    /// The request is rejected with 415 (Unsupported Media Type).
    case refuse
    /// The original is sent unchanged. Requests for any other image than the original are rejected.
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
    /// The name of the preset that the URL uses.
    var preset: String?
    /// The expiry of the URL, in seconds since 1970.
    var expiry: Int64?
}

/// The reason for rejecting an image request.
enum ImageRequestError: Error, Equatable {
    case invalidOption(ImageOptionError)
    case signature(SignatureError)
    /// The host is not allowed.
    case host
    case width(Int?)
}

extension ImageRules {
    /// Parses a request target that begins with `/image/`.
    /// - Parameters:
    ///   - accept: The lines of the client's `Accept`.
    ///   - hints: The client's hints, which are used only if ``usesClientHints`` is true.
    ///   - now: Seconds since 1970, for checking signatures.
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
            preset: reading.preset, expiry: verified.expiry)
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

    /// The URL of an original in the store: see ``OriginBase``.
    func url(of original: ImageTarget.Original) throws(ImageRequestError) -> String {
        switch original {
        case .path(let path):
            guard let url = origin.url(for: path) else { throw .invalidOption(Self.badPath) }
            return url
        case .url(let text, let endpoint):
            guard allows(endpoint) else { throw .host }
            guard let url = try? HTTPURL(text) else { throw .invalidOption(Self.badPath) }
            // The base path also restricts URLs that name the origin's own host.
            guard endpoint != originEndpoint || origin.contains(url) else { throw .host }
            return url.normalized
        case .invalidURL: throw .host
        }
    }

    /// The URL of the original of an image's target, which may be signed, or nil if the target is not an image's.
    func originalURL(of target: String) -> String? {
        let rest = URLSigner.unsigned(target)[...].dropFirst(Router.imagePrefix.utf8.count)
        guard let parsed = try? ImageTarget(rest, below: prefix) else { return nil }
        return try? url(of: parsed.original)
    }

    private static let badPath = ImageOptionError(
        code: "bad-target", message: "A path must be percent-encoded, and stay below the origin's.")

    /// The namespace of an original. Files of other hosts are shared by all origins.
    func namespace(of original: ImageTarget.Original) -> String? {
        if case .url(_, let endpoint) = original, endpoint != originEndpoint { return nil }
        return namespace
    }

    /// Returns true if originals from that host are allowed.
    package func allows(_ endpoint: AllowedHosts.Endpoint) -> Bool { verdict(on: endpoint) != .refused }

    /// Decides whether an endpoint may be contacted. Origins may have any address.
    package func verdict(on endpoint: AllowedHosts.Endpoint) -> AddressPolicy.Verdict {
        if endpoint == originEndpoint { return .anyAddress }
        if otherOrigins.contains(endpoint) { return allowedHosts.names(endpoint) ? .anyAddress : .refused }
        return allowedHosts.contains(endpoint) ? .publicAddress : .refused
    }
}
