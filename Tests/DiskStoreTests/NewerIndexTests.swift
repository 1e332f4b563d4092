import Foundation
import TestSupport
import Testing

@testable import DiskStore

/// A directory that a newer version has used.
@Suite(.timeLimit) struct NewerIndexTests {
    private let test: StoreUnderTest

    init() throws {
        test = try StoreUnderTest()
        try test.store.put("k", [1])
        try test.store.withIndex { (index) throws(StoreError) in
            try index.catalogue().connection.execute("PRAGMA user_version = \(Schema.version + 95)")
        }
        test.store.close()
    }

    private func open(readOnly: Bool = false, discarding: Bool = false) throws -> DiskStore {
        var configuration = StoreConfiguration(capacity: 8 << 20)
        configuration.isReadOnly = readOnly
        configuration.discardsNewer = discarding
        return try DiskStore(directory: test.path, configuration: configuration)
    }

    @Test(arguments: [false, true])
    func `a newer index is refused with its path, and nothing is changed`(readOnly: Bool) throws {
        let before = try FileManager.default.attributesOfItem(atPath: test.path + "/index.sqlite")
        let error = #expect(throws: StoreError.self) { _ = try open(readOnly: readOnly) }
        #expect(error?.code == .newer)
        #expect(
            error?.description.hasPrefix("\(test.path): made by a newer imgcache") == true,
            "\(String(describing: error))")
        let after = try FileManager.default.attributesOfItem(atPath: test.path + "/index.sqlite")
        #expect(before[.systemFileNumber] as? UInt64 == after[.systemFileNumber] as? UInt64)
        #expect(!DiskUsage.files(at: test.path).contains { $0.contains("aside") })
    }

    @Test func `a newer index is replaced by an empty one where that is allowed, and kept aside`() throws {
        let store = try open(discarding: true)
        #expect(try store.read("k") == nil)
        try store.put("k", [2])
        #expect(try open().read("k") == [2])
        #expect(DiskUsage.files(at: test.path).contains("index.sqlite.aside"))
    }
}
