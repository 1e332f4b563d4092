public import HTTPTypes
public import ImageCache
import Transfer

extension DownloadCache {
    /// Stores `bytes` as the response to a GET of `url`, without a request: for tests that start with a filled cache.
    ///
    ///     try await cache.seed(png, for: "https://example.com/logo.png")
    ///
    /// - Parameter fields: The response's fields; default: fresh for a year, with an entity tag.
    /// - Throws: ``ImageCacheError`` with code `notStorable` if the fields forbid storing.
    @discardableResult
    public func seed(
        _ bytes: [UInt8], for url: String,
        fields: HTTPFields = [.cacheControl: "max-age=31536000", .eTag: "\"seed\""]
    ) async throws(ImageCacheError) -> CachedFile {
        var request = FileRequest(url)
        request.policy = .reloadIgnoringLocalCacheData
        request.noStoreBehavior = .fail
        let response = ScriptedResponse(.ok, fields, body: bytes)
        request.transport = ScriptedTransport(now: now) { _ in response }
        return try await download(request).file
    }
}
