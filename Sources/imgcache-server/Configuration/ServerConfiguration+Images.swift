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
        rules.toldLifetimes.maxAge = imageMaxAge.ownSeconds
        rules.toldLifetimes.staleWhileRevalidate = imageStaleWhileRevalidate.ownSeconds
        rules.transfer = imageTransfer
        rules.name = viaName
        rules.tellsTiming = tellsTiming
        return rules
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
        transfer.retry.maxRetries = 2
        transfer.retry.maxUnreachableRetries = 2
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
