import FoundationEssentials
import Glibc
import HTTPCaching

@testable import DiskStore

/// The operation on an input, and the properties that must hold.
enum Trial: String {
    /// An entry's metadata in the index, and a partial's header.
    case metadata
    /// The record file of a partial.
    case partial
    /// The Content-Disposition of a response.
    case disposition

    func run(_ bytes: [UInt8]) {
        switch self {
        case .metadata: runMetadata(bytes)
        case .partial: runPartial(bytes)
        case .disposition: runDisposition(bytes)
        }
    }

    private func runMetadata(_ bytes: [UInt8]) {
        guard let record = ResponseRecord(decoding: bytes) else { return }
        // A decoded record encodes to the same bytes, and can be used for decisions.
        guard let again = ResponseRecord(decoding: record.encoded), again.encoded == record.encoded else {
            fatalError("a record that changes when it is written")
        }
        let rules = CacheRules(mode: bytes.count % 2 == 0 ? .private : .shared)
        _ = rules.variantKey(of: record.response)
        let decision = rules.decide(
            CacheRequest(url: record.url), stored: [record.response], now: Date(timeIntervalSince1970: 1_800_000_000))
        if case .serve(let served) = decision { _ = rules.head(of: served, from: record.response) }
    }

    /// With its checksum put right, or hardly any input would pass the first look.
    private func runPartial(_ bytes: [UInt8]) {
        var bytes = bytes
        if bytes.count >= 64 {
            func length(_ offset: Int) -> Int { bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) } }
            let end = 64 + length(32) + length(36)
            if bytes.count >= end + Checksum.byteCount, bytes[0] & 1 == 1 {
                let checksum = bytes.withUnsafeBytes { Checksum(of: UnsafeRawBufferPointer(rebasing: $0[..<end])) }
                checksum.withBytes { bytes.replaceSubrange(end..<end + Checksum.byteCount, with: $0) }
            }
        }
        guard let file = Self.file(holding: bytes), let record = try? PartialRecord(reading: file) else { return }
        guard record.encoded().elementsEqual(bytes.prefix(record.encoded().count)) else {
            fatalError("a record that changes when it is written")
        }
        var blocks = BlockMap()
        try? file.forEachSlot(of: record, below: 1 << 20) { block, checksum in blocks[block] = checksum != .none }
        let tail = try? file.tail(of: record)
        let held = blocks.held(total: record.total, tail: tail?.range)
        var position: Int64 = 0
        for range in held {
            guard range.lowerBound >= position, !range.isEmpty, range.upperBound <= record.total ?? .max else {
                fatalError("ranges that are not ascending, disjoint and within the body")
            }
            position = range.upperBound
        }
        _ = blocks.missing(total: record.total, tail: tail?.range)
    }

    private static func file(holding bytes: [UInt8]) -> File? {
        var path = Array("/tmp/imgcache-fuzz-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { return nil }
        unlink(path)
        guard bytes.withUnsafeBytes({ pwrite(descriptor, $0.baseAddress, $0.count, 0) }) == bytes.count else {
            close(descriptor)
            return nil
        }
        return File(descriptor: descriptor, path: "the input")
    }

    private func runDisposition(_ bytes: [UInt8]) {
        let field = String(decoding: bytes, as: UTF8.self)
        let name = OutputName.suggested(contentDisposition: field, url: "https://example.org/a/b?c")
        let isHarmless =
            !name.isEmpty && name.utf8.count <= 200 && !name.contains("/") && !name.hasPrefix(".")
            && !name.hasPrefix("-") && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        guard isHarmless else { fatalError("the name \(name)") }
        // The URL's own last segment takes the same way.
        _ = OutputName.suggested(contentDisposition: nil, url: "https://example.org/" + field)
    }
}
