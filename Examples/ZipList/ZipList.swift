import FoundationEssentials
import Glibc
import ImageCache

/// Lists the files of a ZIP archive at a URL, and loads only the archive's end and its directory.
///
///     swift run example-zip-list URL
@main
enum ZipList {
    private struct NotAnArchive: Error {}

    static func main() async {
        guard CommandLine.arguments.count == 2 else { return print("usage: example-zip-list URL") }
        do {
            let cache = try DownloadCache()
            let archive = cache.remoteFile(for: CommandLine.arguments[1])
            for entry in try await entries(of: archive) { print("\(entry.size)\t\(entry.name)") }
            print("\(cache.transferTotals.bytesReceived) of \(try await archive.size) bytes received")
            await cache.close()
        } catch is NotAnArchive {
            print("This is not a ZIP archive, or one of more than 4 GiB.")
            exit(1)
        } catch {
            print(error)  // Names the URL and the reason.
            exit(1)
        }
    }

    /// The entries of the directory, which is near the end of the archive.
    private static func entries(of archive: RemoteFile) async throws -> [(name: String, size: Int)] {
        // The end record has 22 bytes, and a comment of up to 65,535.
        let end = Bytes(try await archive.read(last: 65_557))
        guard let record = end.lastPlace(of: [0x50, 0x4b, 5, 6]) else { throw NotAnArchive() }
        let (size, start) = try (end.number(at: record + 12, bytes: 4), end.number(at: record + 16, bytes: 4))
        guard start < 0xffff_ffff else { throw NotAnArchive() }
        let directory = Bytes(try await archive.read(at: Int64(start), count: size))
        var entries: [(name: String, size: Int)] = []
        var place = 0
        while place < directory.count {
            guard try directory.number(at: place, bytes: 4) == 0x0201_4b50 else { throw NotAnArchive() }
            let size = try directory.number(at: place + 24, bytes: 4)
            let lengths = try [28, 30, 32].map { try directory.number(at: place + $0, bytes: 2) }
            entries.append((try directory.text(at: place + 46, count: lengths[0]), size))
            place += 46 + lengths.reduce(0, +)
        }
        return entries
    }

    /// Bytes in which numbers are little-endian.
    private struct Bytes {
        private let bytes: [UInt8]

        init(_ data: Data) { bytes = Array(data) }

        var count: Int { bytes.count }

        func number(at place: Int, bytes count: Int) throws -> Int {
            guard place >= 0, place + count <= bytes.count else { throw NotAnArchive() }
            return bytes[place..<place + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }

        func text(at place: Int, count: Int) throws -> String {
            guard place + count <= bytes.count else { throw NotAnArchive() }
            return String(decoding: bytes[place..<place + count], as: UTF8.self)
        }

        func lastPlace(of mark: [UInt8]) -> Int? {
            bytes.indices.last { bytes[$0...].starts(with: mark) }
        }
    }
}
