import ArgumentParser
import DiskStore
import FoundationEssentials
import Glibc
import HTTPSemantics
import ImageCache
import ImageCodec
import Transfer
import Units

struct SelfTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "self-test",
        abstract: "Try out what works on this machine: libraries, TLS, workers, locks, space.",
        discussion: """
            A problem keeps imgcache from working as it should, and ends with exit code 6; a note means that something works with less. The \
            cache is neither needed nor created.
            """)

    @OptionGroup var place: PlaceOptions
    @OptionGroup var format: FormatOptions

    func run() throws {
        var findings = Findings()
        testNetwork(&findings)
        testImages(&findings)
        testSystem(&findings)
        testFolder(&findings)
        try findings.print(asJSON: format.json)
        if findings.hasProblem { throw ExitCode(ExitStatus.store.rawValue) }
    }

    // MARK: Network

    /// The files in which systems keep the certificate authorities.
    private static let authorities = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    private func testNetwork(_ findings: inout Findings) {
        do throws(TransferError) {
            findings.add("libcurl", .ok, try TransferEngine.libraryVersion())
        } catch {
            findings.add("libcurl", .problem, error.message)
        }
        if let file = Self.authorities.first(where: { access($0, R_OK) == 0 }) {
            findings.add("TLS", .ok, "certificate authorities in \(file)")
        } else {
            findings.add(
                "TLS", .problem,
                "no certificate authorities; on Debian and Ubuntu: apt install ca-certificates; or use --cacert")
        }
        do {
            findings.add("names", .ok, "bücher.example is \(try HTTPURL("http://bücher.example/").host)")
        } catch {
            findings.add("names", .note, "no host names beyond ASCII: \(error)")
        }
    }

    // MARK: Images

    private func testImages(_ findings: inout Findings) {
        var sample: [UInt8] = []
        for (format, file) in ImageCodecLibraries.selfTest() {
            switch file {
            case .success(let bytes):
                if sample.isEmpty { sample = bytes }
                findings.add(format, .ok, "read and written")
            case .failure(let error): findings.add(format, .note, "\(error)")
            }
        }
        let workers = IsolatedFiles(.ownProgram, width: 1)
        func tryOut(_ name: String, _ file: [UInt8], ok: String, otherwise: String) {
            do throws(ImageCodecError) {
                _ = try workers.image(of: ImageSource(file), ImageSizing(width: 8, height: 8), ImageDecoder())
                findings.add(name, .ok, ok)
            } catch {
                findings.add(name, .note, "\(otherwise)\(error)")
            }
        }
        tryOut("HEIF", HEIFSample.bytes, ok: "read, in confined processes only", otherwise: "")
        tryOut("JPEG XL", JPEGXLSample.bytes, ok: "read, in confined processes only", otherwise: "")
        tryOut("TIFF", TIFFSample.bytes, ok: "read, in confined processes only", otherwise: "")
        tryOut(
            "workers", sample, ok: "images can be decoded in confined processes (--isolate-decoders on)",
            otherwise: "no confined processes for decoding: ")
    }

    // MARK: System

    private func testSystem(_ findings: inout Findings) {
        let pressure = "/proc/pressure/memory"
        if access(pressure, R_OK) == 0 {
            findings.add("pressure", .ok, "memory pressure is reported by \(pressure)")
        } else {
            findings.add(
                "pressure", .note, "\(pressure) cannot be read; limits of the control group or MemAvailable are used")
        }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        findings.add("files", limit.rlim_max < 256 ? .note : .ok, "at most \(limit.rlim_max) open files")
    }

    private func testFolder(_ findings: inout Findings) {
        let directory = place.directory
        let folder = access(directory, F_OK) == 0 ? directory : OutputRoom.folder(of: directory)
        do throws(StoreError) {
            let abilities = try FolderAbilities(ofFolder: folder)
            findings.add(
                "folder", .ok,
                folder == directory ? folder : "\(folder), in which \(directory) would be created")
            findings.addFileSystem(of: folder)
            if !abilities.hasRecordLocks {
                findings.add(
                    "locks", .problem,
                    "the index needs locks (F_SETLK), and they do not work here: use --cache-dir elsewhere")
            } else if abilities.hasLocks, abilities.hasByteLocks {
                findings.add("locks", .ok, "processes exclude each other")
            } else {
                findings.add(
                    "locks", .note,
                    "processes cannot exclude each other here: what two want at once is fetched twice, never wrong")
            }
            findings.add(
                "clones", abilities.hasReflinks ? .ok : .note,
                abilities.hasReflinks
                    ? "files share blocks with the cache"
                    : "files under -o and -d are copies; --link-mode hardlink shares them")
            let free = freeSpace(at: folder) ?? 0
            findings.add("space", free < 1 << 30 ? .note : .ok, "\(ByteSize(free)) are free")
        } catch {
            findings.add("folder", .problem, "\(error)")
        }
    }
}
