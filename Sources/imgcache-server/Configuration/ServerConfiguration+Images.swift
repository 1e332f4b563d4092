import Digests
import HTTPSemantics
import ImageCache
import ImageProxy
import URLSigning

extension ServerConfiguration {
    /// The rules for rendering images.
    /// - Throws: An error if a key file cannot be used.
    func imageRules(_ location: OriginLocation) throws(SettingError) -> ImageRules {
        var rules = ImageRules(origin: location.base)
        rules.originEndpoint = location.endpoint
        rules.allowedHosts = AllowedHosts(allowedHosts)
        rules.restrictions = imageOptions.restrictions
        rules.watermarks = imageOptions.watermarks.mapValues(\.mark)
        rules.usesClientHints = imageOptions.usesClientHints
        rules.presets = try imageOptions.imagePresets()
        rules.signer = try signingKeys().map(URLSigner.init)
        rules.limits.pixels = maxPixels
        rules.limits.frames = maxFrames
        rules.limits.animationPixels = maxAnimationPixels
        rules.limits.animationSeconds = maxAnimationDuration / .seconds(1)
        rules.limits.bytes = Int(clamping: maxImageBytes)
        rules.limits.seconds = imageTimeout / .seconds(1)
        rules.damaged = damagedImages
        rules.svg = svg
        rules.fallbacks = fallbacks
        rules.negativeLifetime = negativeLifetime / .seconds(1)
        rules.sentLifetimes.maxAge = imageMaxAge.ownSeconds
        rules.sentLifetimes.staleWhileRevalidate = imageStaleWhileRevalidate.ownSeconds
        rules.transfer = imageTransfer
        rules.name = viaName
        rules.tellsTiming = tellsTiming
        return rules
    }

    /// The other service whose image URLs are read as well.
    func readURLStyle() throws(SettingError) -> URLStyle? {
        guard let name = urlStyle.flatMap({ URLStyle.Name(rawValue: $0) }) else {
            guard let urlStyleKeys else { return nil }
            throw SettingError(setting: "url-style-keys", value: urlStyleKeys, problem: "needs url-style")
        }
        guard let path = urlStyleKeys else { return URLStyle(name) }
        func unusable(_ problem: String) -> SettingError {
            SettingError(setting: "url-style-keys", value: path, problem: "cannot be used: \(problem)")
        }
        guard name != .cloudflare, name != .iiif else { throw unusable("URLs of \(name.rawValue) have no signatures") }
        do throws(SecretFile.Failure) {
            guard let keys = URLStyle.Key.all(in: try SecretFile.content(of: path, isRegular: true), for: name) else {
                throw SecretFile.Failure(description: "it does not have the keys of \(name.rawValue), one a line")
            }
            return URLStyle(name, keys: keys)
        } catch {
            throw unusable(error.description)
        }
    }

    /// The keys of all files, in order.
    private func signingKeys() throws(SettingError) -> SigningKeys? {
        guard !signingKeyFiles.isEmpty else { return nil }
        var keys: [SigningKey] = []
        for path in signingKeyFiles {
            do throws(SigningKeyError) { keys += try SigningKeys(file: path).all } catch {
                throw SettingError(setting: "signing-key-files", value: path, problem: "cannot be used: \(error)")
            }
        }
        do throws(SigningKeyError) { return try SigningKeys(keys) } catch {
            throw SettingError(
                setting: "signing-key-files", value: signingKeyFiles.joined(separator: ","), problem: "\(error)")
        }
    }

    /// The options for fetching originals. A client waits for the image, so failures are retried soon or not at all.
    private var imageTransfer: TransferOptions {
        var transfer = originTransfer
        transfer.userAgent = nil
        transfer.maxFileSize = min(maxImageBytes, maxResponseSize ?? maxImageBytes)
        transfer.retry.baseDelay = .milliseconds(250)
        transfer.retry.retryAfterLimit = .seconds(2)
        // Slowly arriving bytes count as progress, so the total time is also limited.
        transfer.maxTime = originTimeout * 10
        transfer.retry.maxTotalTime = originTimeout * 10
        return transfer
    }
}

extension Duration {
    /// The seconds of a lifetime that is set; nil for zero.
    fileprivate var ownSeconds: Int? { self == .zero ? nil : Int(components.seconds) }
}
