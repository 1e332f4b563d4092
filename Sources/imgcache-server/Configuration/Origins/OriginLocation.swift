import HTTPSemantics
import HTTPServer
import ImageCache
import ImageProxy
import RemoteStore

/// The location of an origin's files: a URL, a bucket or a folder.
struct OriginLocation {
    let base: OriginBase
    /// The host and port that the URL names.
    let endpoint: AddressPolicy.Endpoint?
    /// `nil` for an origin that is not a bucket.
    let bucket: S3Location?
    /// The absolute path of a folder; nil for an origin that is none.
    let folder: String?

    /// True for a bucket or a folder.
    var isStorage: Bool { base.isStorage }

    /// A kind of bucket.
    private struct BucketScheme {
        let name: String
        /// The store and the region without settings; nil for those that AWS's tools find.
        var endpoint: String?
        var region: String?
    }

    private static let bucketSchemes = [
        BucketScheme(name: "s3://"),
        // Google Cloud Storage takes requests of S3, signed with HMAC keys.
        BucketScheme(name: "gs://", endpoint: "https://storage.googleapis.com", region: "auto"),
    ]

    /// The bucket at a URL; nil for the URL of a server.
    private static func bucket(
        _ text: String, endpoint: String?, region: String?
    ) throws(RemoteConfigurationError) -> S3Location? {
        guard let scheme = bucketSchemes.first(where: { text.hasPrefix($0.name) }) else { return nil }
        return try S3Location(
            "s3://" + text.dropFirst(scheme.name.count), endpoint: endpoint ?? scheme.endpoint,
            region: region ?? scheme.region)
    }

    private static let folderScheme = "file://"

    /// The path in `file:///PATH`, without a trailing slash; nil for another URL, or without an absolute path to a folder below the root.
    private static func folder(_ text: String) -> String? {
        guard text.hasPrefix(folderScheme + "/"),
            let bytes = PercentEncoding.strictlyDecoded(text.dropFirst(folderScheme.count).utf8), !bytes.contains(0),
            let path = String(validating: bytes, as: UTF8.self)
        else { return nil }
        let names = path.split(separator: "/")
        return names.isEmpty || names.contains(where: { $0 == "." || $0 == ".." })
            ? nil : "/" + names.joined(separator: "/")
    }

    /// - Throws: An error if a bucket's store is invalid.
    init(_ configuration: ServerConfiguration) throws(SettingError) {
        let text = configuration.origin
        do throws(RemoteConfigurationError) {
            bucket = try Self.bucket(text, endpoint: configuration.s3Endpoint, region: configuration.s3Region)
        } catch {
            throw SettingError(setting: "origin", value: text, problem: "cannot be used: \(error)")
        }
        folder = Self.folder(text)
        if let folder {
            let names = folder.split(separator: "/").map { PercentEncoding.encodedComponent(String($0)) }
            base = OriginBase(folder: "/" + names.joined(separator: "/"))
            endpoint = nil
            return
        }
        if let bucket {
            var base = OriginBase(bucket.baseURL)
            base.isStorage = true
            self.base = base
        } else {
            // A request's path is appended.
            base = OriginBase(text.hasSuffix("/") ? String(text.dropLast()) : text)
        }
        endpoint = base.url.flatMap { AddressPolicy.Endpoint(authority: $0.authority, scheme: $0.scheme.rawValue) }
    }

    /// Returns the problem with an origin's URL, or nil if there is none.
    static func problem(_ text: String) -> String? {
        do throws(RemoteConfigurationError) {
            if try bucket(text, endpoint: "https://s3.example", region: "us-east-1") != nil { return nil }
        } catch {
            return "cannot be used: \(error)"
        }
        if text.hasPrefix(folderScheme) {
            return folder(text) == nil ? "must be file:/// and the absolute path of a folder" : nil
        }
        let url: HTTPURL
        do throws(InvalidURL) { url = try HTTPURL(text) } catch {
            switch error.reason {
            case .notAbsolute, .scheme:
                return
                    "must be an http or https URL, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:///FOLDER"
            case .host, .port, .internationalName: return "has no host"
            case .controlCharacter, .percent: return unfit
            }
        }
        guard HostField.isValid(url.authority.utf8) else { return "has no host" }
        let isPlain = text.utf8.allSatisfy { ByteClass.target.contains($0) && $0 != UInt8(ascii: "?") }
        return isPlain ? nil : unfit
    }

    private static let unfit = "has a query, a fragment or a character that must be percent-encoded"

    /// Returns the problem with a store's URL, or nil if there is none.
    static func endpointProblem(_ text: String) -> String? {
        do throws(RemoteConfigurationError) {
            _ = try S3Location(endpoint: text, bucket: "bucket")
            return nil
        } catch {
            return "cannot be used: \(error)"
        }
    }
}
