import ArgumentParser
import Digests
import FoundationEssentials
import Glibc
import HTTPSemantics
import ImageCache
import Zsync

/// The options of `fetch` for a new version of a file of which an older one is there.
struct ZsyncOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Fetch only the blocks that no file here has, by this control file of zsync 0.6: its URL or path, or 'auto' for the URL with \
            .zsync, if there is one that is not older than the file. Blocks are looked for in the stored version, in the file at the target, and in --seed. The control \
            file's SHA-1 or --sha256 verifies the whole; SHA-1 is no proof against an attacker.
            """, valueName: "url|file|auto"))
    var zsync: String?

    @Option(
        name: .customLong("seed"),
        help: ArgumentHelp("With --zsync: also look for blocks in this file; may be repeated.", valueName: "file"))
    var seeds: [String] = []

    func validate(_ urls: [String], _ several: BatchOptions) throws {
        guard zsync == nil || urls.count == 1 && several.inputFile == nil else {
            throw ValidationError("--zsync takes one URL.")
        }
        guard seeds.isEmpty || zsync != nil else { throw ValidationError("--seed goes with --zsync.") }
    }

    var isAutomatic: Bool { zsync == "auto" }

    // MARK: Preparing a download

    /// Reads the control file, and looks for the blocks of the request's file.
    ///
    /// - Parameter paths: The files that may have blocks, besides those of the options.
    /// - Throws: The errors of the control file, unless it is looked for automatically.
    func prepare(
        _ request: inout FileRequest, from cache: DownloadCache, template: FileRequest, besides paths: [String]
    ) async throws {
        guard zsync != nil else { return }
        do {
            guard let (control, made) = try await control(for: request, from: cache, template: template) else { return }
            if isAutomatic, request.expectedDigest == nil {
                guard try await isCurrent(control, made, request, cache) else {
                    return request.trace?("* no zsync: the control file may be that of an older version\n") ?? ()
                }
            }
            if request.expectedDigest == nil {
                guard let digest = control.sha1.flatMap({ Digest(.sha1, hexadecimal: $0) }) else {
                    throw Failure(.wrongBytes, "the control file has no SHA-1; give the SHA-256 with --sha256")
                }
                request.integrity.digest = digest
                request.integrity.asksForDigest = false
                // The user has named the control file: a stored file with its digest is the requested one, regardless of its age.
                if !isAutomatic, request.policy == .useProtocolCachePolicy { request.policy = .returnCacheDataElseLoad }
            }
            if !isAutomatic, try cache.blocking.storedFile(for: request) != nil { return }
            let files = paths.compactMap { SeedFile($0) } + (try seeds.map(Self.seed))
            guard !files.isEmpty else { return }
            BlockingSection.enter()
            defer { BlockingSection.leave() }
            guard let seed = ZsyncSeed(control, in: files) else { return }
            request.trace?("* \(seed.missingBytes) of \(seed.total) bytes are in none of \(files.count) files\n")
            request.seed = seed
        } catch  where isAutomatic && !(error is Failure && (error as? Failure)?.status == .usage) {
            if let error = error as? ImageCacheError, error.code == .cancelled { throw error }
            request.trace?("* no zsync: \(error)\n")
        }
    }

    private static func seed(_ path: String) throws -> SeedFile {
        guard let file = SeedFile(path) else {
            throw Failure(.usage, "\(path): is no file with content that can be read")
        }
        return file
    }

    /// Returns true if a control file that was only looked for is that of the file that the server has now: of the same length, and not older.
    private func isCurrent(
        _ control: ZsyncControl, _ made: HTTPFields, _ request: FileRequest, _ cache: DownloadCache
    ) async throws -> Bool {
        var head = request
        head.method = .head
        head.policy = .reloadIgnoringLocalCacheData
        let file = try await cache.response(for: head).head.headerFields
        guard file[.contentLength].flatMap({ Int64($0) }) == control.length,
            let changed = file[.lastModified].flatMap({ HTTPDate.parse($0, now: Date()) }),
            let published = made[.lastModified].flatMap({ HTTPDate.parse($0, now: Date()) })
        else { return false }
        return changed <= published
    }

    private func control(
        for request: FileRequest, from cache: DownloadCache, template: FileRequest
    ) async throws -> (ZsyncControl, HTTPFields)? {
        guard let zsync else { return nil }
        let bytes: [UInt8]
        var fields = HTTPFields()
        if !isAutomatic, !zsync.isWebURL {
            guard let file = SeedFile(zsync), file.size <= ZsyncControl.largest else {
                throw Failure(.usage, "\(zsync): is no control file that can be read")
            }
            bytes = file.bytes
        } else {
            var wanted = template
            wanted.url = isAutomatic ? Self.controlURL(of: request.url) : zsync
            wanted.sha256 = nil
            wanted.integrity = .init()
            wanted.transfer.maxFileSize = ZsyncControl.largest
            if wanted.policy == .useProtocolCachePolicy { wanted.policy = .reloadRevalidatingCacheData }
            if !Self.hasSameOrigin(wanted.url, request.url) {
                // They are for the file's server.
                wanted.transfer.credentials = nil
                for name in [HTTPField.Name.authorization, .cookie] { wanted.fields[name] = nil }
            }
            let file = try await cache.file(for: wanted)
            fields = file.response.fields
            bytes = SeedFile(file.path)?.bytes ?? []
        }
        do throws(ZsyncControl.Failure) { return (try ZsyncControl(bytes), fields) } catch {
            throw Failure(.wrongBytes, "\(isAutomatic ? Self.controlURL(of: request.url) : zsync): \(error)")
        }
    }

    private static func hasSameOrigin(_ one: String, _ other: String) -> Bool {
        guard let one = try? HTTPURL(one), let other = try? HTTPURL(other) else { return false }
        return one.hasSameOrigin(as: other)
    }

    /// The usual URL of the control file: `.zsync` is added to the path.
    static func controlURL(of url: String) -> String {
        let end = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
        return url[..<end] + ".zsync" + url[end...]
    }
}

extension SeedFile {
    fileprivate var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
            count = read(at: 0, into: UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
