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

    /// Reads the control file, and gives the request what other files may have of its file.
    ///
    /// - Parameter paths: The files that may have blocks, besides those of the options.
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
        let (control, published) = try await control(zsync, for: request, from: cache, template: template)
        if request.expectedDigest == nil {
            if isAutomatic { try await requireCurrent(control, published, request, cache) }
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

    /// Throws unless a control file that was only looked for is that of the file that the server has now: of the same length, and not older.
    private func requireCurrent(
        _ control: ZsyncControl, _ published: Date?, _ request: FileRequest, _ cache: DownloadCache
    ) async throws {
        var head = request
        head.method = .head
        head.policy = .reloadIgnoringLocalCacheData
        let file = try await cache.response(for: head).head.headerFields
        guard file[.contentLength].flatMap({ Int64($0) }) == control.length, let changed = file.date(.lastModified),
            let published, changed <= published
        else { throw Failure(.wrongBytes, "the control file may be that of an older version") }
    }

    /// The control file, and the time of its last change if the server tells it.
    private func control(
        _ zsync: String, for request: FileRequest, from cache: DownloadCache, template: FileRequest
    ) async throws -> (ZsyncControl, Date?) {
        var (name, path, published) = (zsync, zsync, Date?.none)
        if isAutomatic || zsync.isWebURL {
            name = isAutomatic ? Self.controlURL(of: request.url) : zsync
            var own = template
            own.url = request.url
            var wanted = own.addressed(to: name)
            wanted.sha256 = nil
            wanted.integrity = .init()
            wanted.transfer.maxFileSize = Int64(ZsyncControl.largest)
            if wanted.policy == .useProtocolCachePolicy { wanted.policy = .reloadRevalidatingCacheData }
            let file = try await cache.file(for: wanted)
            (path, published) = (file.path, file.response.fields.date(.lastModified))
        }
        let bytes: [UInt8]
        do throws(LimitedFile.Failure) {
            bytes = try LimitedFile.bytes(of: path, limit: ZsyncControl.largest, isRegular: true)
        } catch {
            throw Failure(.usage, "\(name): \(error)")
        }
        do throws(ZsyncControl.Failure) { return (try ZsyncControl(bytes), published) } catch {
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
