import DiskStore
import FoundationEssentials
import HTTPTypes
import Testing

@testable import ImageCache

@Suite struct RecordMigratorTests {
    private let migrator = RecordMigrator()
    private let token = "Bearer 3q2-7w"

    /// A record as version 1 wrote it.
    private func old(_ requestFields: HTTPFields, vary: String?) -> [UInt8] {
        var writer = FieldWriter()
        writer.write(1 as UInt8)
        for text in ["https://example.com/a", "https://example.com/a", "GET", "https://example.com/a"] {
            writer.write(text)
        }
        writer.write(requestFields)
        writer.write(200 as Int64)
        var fields: HTTPFields = [.eTag: "\"1\""]
        fields[.vary] = vary
        writer.write(fields)
        writer.write(1_700_000_000.0)
        writer.write(1_700_000_001.0)
        writer.write(length: 0)
        writer.write(nil as String?)
        writer.write(0 as UInt8)
        return writer.bytes
    }

    private func entry(_ key: String, variant: String, _ metadata: [UInt8]) -> NewEntry {
        NewEntry(key: EntryKey(key), variant: variant, url: "https://example.com/a", metadata: metadata)
    }

    @Test func `a variant of version 1 stays, and answers the same requests without holding their fields`() throws {
        let metadata = old([.authorization: token], vary: "Authorization")
        let before = entry("GET - - https://example.com/a", variant: "authorization=13:\(token)\n", metadata)
        let after = try #require(migrator.migrated(before, from: 1))
        #expect(!after.variant.contains(token) && !String(decoding: after.metadata, as: UTF8.self).contains(token))
        let record = try #require(ResponseRecord(decoding: after.metadata))
        let rules = CacheRules()
        #expect(rules.isSelected(record.response, by: [.authorization: token]))
        #expect(!rules.isSelected(record.response, by: [.authorization: "other"]))
        #expect(after.variant == rules.variantKey(of: [.authorization: token], for: record.response.fields))
    }

    @Test func `an entry without Vary stays unchanged and readable`() throws {
        let metadata = old([:], vary: nil)
        let after = try #require(
            migrator.migrated(entry("GET - - https://example.com/a", variant: "", metadata), from: 1))
        #expect(after.metadata == metadata && after.variant.isEmpty)
        #expect(ResponseRecord(decoding: metadata)?.response.status == .ok)
    }

    @Test func `a derived image of a varying original stays, without the request's fields`() throws {
        var writer = FieldWriter()
        writer.write(0x81 as UInt8)
        for number in [7, 100, 50] as [Int64] { writer.write(number) }
        let metadata = writer.bytes + old([.cookie: token], vary: "Cookie")
        let key = EntryKey(.derivedImages(RequestKey(url: "https://example.com/a")))
        let after = try #require(migrator.migrated(entry(key.value, variant: "100x50", metadata), from: 1))
        #expect(after.variant == "100x50" && !String(decoding: after.metadata, as: UTF8.self).contains(token))
        #expect(DerivedImageRecord(decoding: after.metadata)?.original == 7)
    }

    @Test func `entries that were stored for an Authorization or cannot be read are dropped`() {
        let key = "GET 29:authorization:89abcdef0123456 - https://example.com/a"
        #expect(migrator.migrated(entry(key, variant: "", old([:], vary: nil)), from: 1) == nil)
        #expect(migrator.migrated(entry("IMAGES-OF-" + key, variant: "w", []), from: 1) == nil)
        #expect(migrator.migrated(entry("GET - - https://example.com/a", variant: "x", [1, 2]), from: 1) == nil)
        let user = "GET 6:user:a - https://example.com/a"
        #expect(migrator.migrated(entry(user, variant: "", old([:], vary: nil)), from: 1) != nil)
    }

    @Test func `a partial stays unless its record holds a value of the request's fields`() {
        let key = EntryKey("GET - - https://example.com/a")
        #expect(migrator.keepsPartial(of: key, header: old([:], vary: "Accept-Encoding"), from: 1))
        #expect(!migrator.keepsPartial(of: key, header: old([.cookie: token], vary: "Cookie"), from: 1))
        #expect(!migrator.keepsPartial(of: key, header: [9, 9], from: 1))
    }
}
