import ArgumentParser
import Digests
import Glibc
import ImageCache
import Zsync

/// The options of `fetch` for a new version of a file of which an older one is there.
struct ZsyncOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Fetch only the blocks that no file here has, by this control file of zsync 0.6: its URL or path, or 'auto' for the URL with \
            .zsync, if there is one. Blocks are looked for in the stored version, in the file at the target, and in --seed. The control \
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
            guard let control = try await control(for: request, from: cache, template: template) else { return }
            if request.expectedDigest == nil {
                guard let digest = control.sha1.flatMap({ Digest(.sha1, hexadecimal: $0) }) else {
                    throw Failure(.wrongBytes, "the control file has no SHA-1; give the SHA-256 with --sha256")
                }
                request.integrity.digest = digest
                request.integrity.asksForDigest = false
                // A stored file with the digest is the requested one, regardless of its age.
                if request.policy == .useProtocolCachePolicy { request.policy = .returnCacheDataElseLoad }
            }
            if try cache.blocking.storedFile(for: request) != nil { return }
            let files = (paths + seeds).compactMap { SeedFile($0) }
            guard !files.isEmpty else { return }
            BlockingSection.enter()
            defer { BlockingSection.leave() }
            guard let seed = ZsyncSeed(control, in: files) else { return }
            request.trace?("* \(seed.missingBytes) of \(seed.total) bytes are in none of \(files.count) files\n")
            request.seed = seed
        } catch  where isAutomatic {
            if let error = error as? ImageCacheError, error.code == .cancelled { throw error }
            request.trace?("* no zsync: \(error)\n")
        }
    }

    private func control(
        for request: FileRequest, from cache: DownloadCache, template: FileRequest
    ) async throws -> ZsyncControl? {
        guard let zsync else { return nil }
        let bytes: [UInt8]
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
            let file = try await cache.file(for: wanted)
            bytes = SeedFile(file.path)?.bytes ?? []
        }
        do throws(ZsyncControl.Failure) { return try ZsyncControl(bytes) } catch {
            throw Failure(.wrongBytes, "\(isAutomatic ? Self.controlURL(of: request.url) : zsync): \(error)")
        }
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
