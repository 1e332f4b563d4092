import ArgumentParser
import Digests
import FoundationEssentials
import HTTPSemantics
import ImageCache
import Zsync

/// The options of `fetch` for a new version of a file of which an older one is there.
struct ZsyncOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Fetch only the blocks that no file here has, by this control file of zsync 0.6: its URL or path, or 'auto' for the one that the \
            server announces in Link, else the URL with .zsync, if there is one that is not older than the file. Blocks are looked for in the stored version, in the file at the target, and in --seed. The control \
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

    /// Reads the control file, and adds the files that may have blocks to the request.
    ///
    /// - Parameter paths: The files that may have blocks, in addition to `--seed`.
    /// - Throws: The errors of the control file, unless it is looked for automatically.
    func prepare(
        _ request: inout FileRequest, from cache: DownloadCache, template: FileRequest, besides paths: [String]
    ) async throws {
        let files = paths.compactMap { SeedFile($0) } + (try seeds.map(Self.seed))
        do {
            try await prepare(&request, from: cache, template: template, files)
        } catch let error where isAutomatic && (error as? ImageCacheError)?.code != .cancelled {
            request.trace?("* no zsync: \(error)\n")
        }
    }

    private static func seed(_ path: String) throws -> SeedFile {
        guard let file = SeedFile(path) else {
            throw Failure(.usage, "\(path): is no file with content that can be read")
        }
        return file
    }

    private func prepare(
        _ request: inout FileRequest, from cache: DownloadCache, template: FileRequest, _ files: [SeedFile]
    ) async throws {
        guard let zsync else { return }
        let control =
            isAutomatic
            ? try await foundControl(for: request, from: cache, template: template)
            : try await control(zsync, for: request, from: cache, template: template).control
        if request.expectedDigest == nil {
            guard let sha1 = control.sha1 else {
                throw Failure(.wrongBytes, "the control file has no SHA-1; give the SHA-256 with --sha256")
            }
            request.integrity.digest = sha1
            request.integrity.asksForDigest = false
            // The user has named the control file: a stored file with its digest is the requested one, regardless of its age.
            if !isAutomatic, request.policy == .useProtocolCachePolicy { request.policy = .returnCacheDataElseLoad }
        }
        if !files.isEmpty { request.seed = ZsyncSeed(control, in: files, trace: request.trace) }
    }

    // MARK: Looking for a control file

    /// The time for which a server without a control file is not asked again.
    private static let absence = Duration.seconds(86_400)

    /// The control file that the server announces, or the one at the usual URL.
    private func foundControl(
        for request: FileRequest, from cache: DownloadCache, template: FileRequest
    ) async throws -> ZsyncControl {
        guard request.policy != .returnCacheDataDontLoad else {
            throw Failure(.usage, "only stored responses are to be used")
        }
        var head = request
        head.method = .head
        head.policy = .reloadIgnoringLocalCacheData
        let file = try await cache.response(for: head).head.headerFields
        if let announced = Self.announcedURL(in: file, base: request.url) {
            let found = try await control(announced, for: request, from: cache, template: template)
            try requireCurrent(found, file, proves: request.expectedDigest != nil)
            return found.control
        }
        let url = Self.controlURL(of: request.url)
        let absence = "no zsync: \(url)"
        if request.policy == .useProtocolCachePolicy,
            case .found(true) = try await cache.value(forKey: absence, as: Bool.self, owner: request.owner)
        {
            throw Failure(.usage, "the server had no control file within the last day")
        }
        do {
            let found = try await control(url, for: request, from: cache, template: template)
            try requireCurrent(found, file, proves: request.expectedDigest != nil)
            return found.control
        } catch let error as ImageCacheError where error.code.statusCode == 404 {
            try await cache.store(true, for: absence, owner: request.owner, lifetime: Self.absence)
            throw error
        }
    }

    /// Throws unless a control file that was found automatically describes the server's current file: it has the same length, and the same
    /// validator or is not older.
    private func requireCurrent(_ found: FoundControl, _ file: HTTPFields, proves hasDigest: Bool) throws {
        if hasDigest { return }
        let tag = ValidatorFields(found.fields).entityTag
        let isOfTag =
            if let tag, let other = ValidatorFields(file).entityTag { tag.matchesStrongly(other) } else { false }
        guard ContentLength.value(of: file) == found.control.length,
            isOfTag || found.isNotOlder(than: file)
        else { throw Failure(.wrongBytes, "the control file may be that of an older version") }
    }

    /// The URL of the control file in a `Link` field (RFC 8288), which a service of imgcache sends with `zsync = on`.
    static func announcedURL(in fields: HTTPFields, base: String) -> String? {
        guard let base = try? HTTPURL(base) else { return nil }
        for link in WebLink.all(in: fields) where link.relations.contains("describedby") {
            guard link.type == ZsyncControl.mediaType else { continue }
            return try? HTTPURL(reference: link.target, relativeTo: base).text
        }
        return nil
    }

    // MARK: Reading a control file

    private struct FoundControl {
        var control: ZsyncControl
        /// The fields of its response, if it is not a file here.
        var fields = HTTPFields()

        func isNotOlder(than file: HTTPFields) -> Bool {
            guard let changed = file.date(.lastModified), let published = fields.date(.lastModified) else {
                return false
            }
            return changed <= published
        }
    }

    /// Reads a control file at a URL or a path.
    private func control(
        _ name: String, for request: FileRequest, from cache: DownloadCache, template: FileRequest
    ) async throws -> FoundControl {
        var (path, fields) = (name, HTTPFields())
        if name.isWebURL {
            var own = template
            own.url = request.url
            var wanted = own.addressed(to: name)
            wanted.sha256 = nil
            wanted.integrity = .init()
            wanted.transfer.maxFileSize = Int64(ZsyncControl.largest)
            if wanted.policy == .useProtocolCachePolicy { wanted.policy = .reloadRevalidatingCacheData }
            let file = try await cache.file(for: wanted)
            (path, fields) = (file.path, file.response.fields)
        }
        let bytes: [UInt8]
        do throws(LimitedFile.Failure) {
            bytes = try LimitedFile.bytes(of: path, limit: ZsyncControl.largest, isRegular: true)
        } catch {
            throw Failure(.usage, "\(name): \(error)")
        }
        do throws(ZsyncControl.Failure) {
            return FoundControl(control: try ZsyncControl(bytes), fields: fields)
        } catch {
            throw Failure(.wrongBytes, "\(name): \(error)")
        }
    }

    /// The usual URL of the control file: `.zsync` is added to the path.
    static func controlURL(of url: String) -> String {
        let end = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
        return url[..<end] + ".zsync" + url[end...]
    }
}

extension HTTPFields {
    fileprivate func date(_ name: HTTPField.Name) -> Date? {
        self[name].flatMap { HTTPDate.parse($0, now: Date()) }
    }
}
