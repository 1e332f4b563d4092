import ConcurrencyPrimitives
package import ImageCodec

extension DownloadCache {
    /// The unmodified original of a request if it has the given format, even if that format cannot be decoded.
    ///
    /// - Parameters:
    ///   - format: The format, which is detected from the first bytes.
    ///   - mostBytes: The maximum size of the file.
    /// - Returns: The file with width and height 0; nil for another format.
    /// - Throws: The errors of ``file(for:)-(FileRequest)``, or `limitExceeded` for a larger file.
    package func unchanged(
        _ request: ImageRequest, if format: ImageFormat, mostBytes: Int
    ) async throws(ImageCacheError) -> Thumbnail? {
        let file = try await pipeline.original(request.file)
        let bytes = try await executor.run { () throws(ImageCacheError) -> [UInt8]? in
            do throws(ImageCodecError) {
                let source = try ImageSource(file)
                guard ImageFormat.detect(try source.prefix(ImageFormat.signatureLength)) == format else { return nil }
                guard source.byteCount <= mostBytes else {
                    throw ImageCodecError(
                        .limitExceeded, format: format, "a file of \(source.byteCount) bytes, more than \(mostBytes)")
                }
                return try source.all()
            } catch {
                throw ImageCacheError(error, file)
            }
        }
        guard let bytes else { return nil }
        let (now, rules) = (fetcher.now(), fetcher.rules)
        return Thumbnail(
            DerivedImage(
                .encoded(bytes, format, width: 0, height: 0), original: file.body.entry.id,
                generation: file.generation,
                freshUntil: file.freshUntil(now, rules, request.file.freshnessOverride),
                response: DerivedImage.Response(file, rules: rules, at: now), damage: nil),
            .original(file.source))
    }
}
