import Digests
import HTTPSemantics
import HTTPServer
import HTTPTypes
import ImageCache
import Zsync

/// The control files of zsync that the service makes for complete stored bodies, and the links that announce them.
///
///     Link: </zsync/2f0c9a…/images/disk.iso>; rel="describedby"; type="application/x-zsync"
///
/// The path contains the version of the body, so that a control file is never used for another version.
enum ControlFiles {
    /// The path prefix of control files.
    static let pathPrefix = "/zsync/"
    /// The name of the files among those that are made from a stored body.
    private static let kind = "zsync"
    /// The shortest body that has a control file, in bytes. A shorter one is fetched whole in little time.
    static let leastLength: Int64 = 8 << 20
    /// The greatest number of blocks. A control file has about 10 bytes for each, and is made in memory.
    private static let mostBlocks: Int64 = 1 << 20

    /// The name of the version of a body in paths: a digest of its strong validator, or nil if it has none or is encoded.
    static func version(of fields: HTTPFields) -> String? {
        guard !fields.contains(.contentEncoding), let validator = ValidatorFields(fields).strongText,
            let digest = try? RunningDigest.digest(.sha256, of: Array(validator.utf8))
        else { return nil }
        return Array(digest.prefix(8)).hexadecimal
    }

    /// The value of `Link` (RFC 8288) in a response with the complete stored body at a target, or nil if the body has no control file.
    static func link(to target: String, of head: HTTPResponse) -> String? {
        guard head.status == .ok || head.status == .partialContent, let length = head.completeLength,
            length >= leastLength, target.utf8.allSatisfy(OriginalReference.isInReference),
            let version = version(of: head.headerFields)
        else { return nil }
        return "<\(pathPrefix)\(version)\(target)>; rel=\"describedby\"; type=\"\(ZsyncControl.mediaType)\""
    }

    /// Splits the target of a control file into the version and the target of its body.
    static func parts(of target: String) -> (version: String, body: String)? {
        guard target.hasPrefix(pathPrefix) else { return nil }
        let rest = target.dropFirst(pathPrefix.count)
        guard let slash = rest.firstIndex(of: "/"), target.utf8.allSatisfy(OriginalReference.isInReference) else {
            return nil
        }
        return (String(rest[..<slash]), String(rest[slash...]))
    }

    /// The control file of a stored body, which is made once and then stored. It has no URL: clients may know the body under several.
    static func file(of body: CachedFile, in cache: DownloadCache) async throws(ImageCacheError) -> DerivedFile? {
        try await cache.derivedFile(kind, of: body) { file in
            guard let seed = SeedFile(file.path) else { return nil }
            let made = try? ZsyncControl.made(
                length: seed.size, blockSize: ZsyncControl.blockSize(for: seed.size, mostBlocks: mostBlocks)
            ) { seed.read(at: $0, into: $1) }
            return made?.encoded
        }
    }

    /// The content of a control file for a client that knows the body under a target, and its length in bytes.
    static func content(_ file: DerivedFile, of target: String) -> (Response.Body, length: Int64) {
        let skipped = ZsyncControl.firstLine.utf8.count
        let head = Array("\(ZsyncControl.firstLine)URL: \(target)\n".utf8)
        switch file {
        case .bytes(let bytes):
            let all = head + bytes.dropFirst(skipped)
            return (.bytes(all), Int64(all.count))
        case .stored(let stored):
            let length = Int64(head.count) + stored.size - Int64(skipped)
            let body = Response.Body.stream(length: length) { writer in
                try await writer.write(head)
                try await writer.write(stored.descriptor, Int64(skipped)..<stored.size)
                withExtendedLifetime(stored) {}
            }
            return (body, length)
        }
    }
}

extension HTTPResponse {
    /// The length of the complete representation in bytes; for a 206, from `Content-Range` (RFC 9110 section 14.4).
    fileprivate var completeLength: Int64? {
        status == .partialContent ? ContentRange(headerFields)?.total : ContentLength.value(of: headerFields)
    }
}
