import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

/// The targets of exports.
@Suite struct ExportTargetTests {
    private let test: StoreUnderTest
    private let body = pattern(300_000)
    private let stored: StoredBody

    init() throws {
        test = try StoreUnderTest()
        stored = try test.store.writeWhole("k", body).commit(NewEntry(key: EntryKey("k"), url: "", metadata: []))
    }

    private func path(_ name: String) -> String { test.directory.path(name) }
    private func bytes(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path(name)).map { Array($0) }
    }
    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
    }
    private func isLink(_ name: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: path(name))) != nil
    }

    @Test(arguments: [true, false])
    func `an export follows a symbolic link, even to a file that does not exist yet`(isThere: Bool) throws {
        try FileManager.default.createDirectory(atPath: path("folder"), withIntermediateDirectories: false)
        if isThere { try test.directory.write("old", to: "folder/file") }
        try link("second", to: "folder/file")
        try link("first", to: "second")
        try stored.export(to: path("first"), overwrite: true)
        #expect(bytes("folder/file") == body)
        #expect(isLink("first") && isLink("second"))
        #expect(try stored.error { try $0.export(to: path("first"), overwrite: false) } == .exists)
    }

    @Test func `links in a circle are an error`() throws {
        try link("a", to: "b")
        try link("b", to: "a")
        #expect(try stored.error { try $0.export(to: path("a"), overwrite: true) } == .io)
    }

    @Test func `an export to a descriptor of the process appends to it`() throws {
        let descriptor = open(path("log"), O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        _ = write(descriptor, "before\n", 7)
        for name in ["/dev/fd/\(descriptor)", "/proc/self/fd/\(descriptor)"] {
            try stored.export(to: name, overwrite: true)
        }
        try link("alias", to: "/dev/fd/\(descriptor)")
        try stored.export(to: path("alias"), overwrite: true)
        #expect(bytes("log") == Array("before\n".utf8) + body + body + body)
    }

    @Test func `an export to a device writes into the device`() throws {
        try stored.export(to: "/dev/null", overwrite: true)
        #expect(try ExportTarget("/dev/null") == .stream("/dev/null"))
        #expect(try stored.error { try $0.export(to: "/dev/full", overwrite: true) } == .full)
    }

    @Test func `a body that is moved out is whole, has a usual mode, and is a miss in its store`() throws {
        try stored.move(to: path("moved"), overwrite: false)
        #expect(bytes("moved") == body)
        let mode = try FileManager.default.attributesOfItem(atPath: path("moved"))[.posixPermissions] as? Int
        let mask = umask(0)
        umask(mask)
        #expect(mode == Int(0o666 & ~mask))
        #expect(try test.store.read("k") == nil)
    }

    /// The ways in which a file gets to its target.
    enum Way: CaseIterable { case clone, copy, move, write }

    @Test(arguments: Way.allCases, [true, false])
    func `a file has the permissions of the one that it replaces, also behind a link`(way: Way, isLinked: Bool) throws {
        let target = isLinked ? "link" : "file"
        if isLinked { try link("link", to: "file") }
        let table: [(old: Int, new: Int)] = [
            (0o755, 0o755), (0o600, 0o600), (0o666, 0o666), (0o444, 0o444), (0o6711, 0o711), (0o1640, 0o640),
        ]
        for (old, new) in table {
            try? FileManager.default.removeItem(atPath: path("file"))
            try test.directory.write("old", to: "file")
            #expect(chmod(path("file"), mode_t(old)) == 0)
            let stored = try test.store.writeWhole("\(old)", body).commit(
                NewEntry(key: EntryKey("\(old)"), url: "", metadata: []))
            switch way {
            case .clone: try stored.export(to: path(target), overwrite: true, mode: .clone)
            case .copy: try stored.export(to: path(target), overwrite: true, mode: .copy)
            case .move: try stored.move(to: path(target), overwrite: true)
            case .write:
                try ExportTarget(path(target)).write(overwrite: true) { (descriptor) throws(StoreError) in
                    try stored.copy(toDescriptor: descriptor)
                }
            }
            #expect(bytes("file") == body)
            #expect(mode(path("file")) == new, "\(String(old, radix: 8))")
        }
        #expect(isLink("link") == isLinked)
    }

    @Test func `a mode that is given applies to a replaced file, too`() throws {
        try test.directory.write("old", to: "file")
        #expect(chmod(path("file"), 0o644) == 0)
        try ExportTarget(path("file")).write(overwrite: true, mode: 0o600) { (descriptor) throws(StoreError) in
            try stored.copy(toDescriptor: descriptor)
        }
        #expect(mode(path("file")) == 0o600)
    }

    @Test func `a link in place of a file leaves the mode of the store's file`() throws {
        let own = mode(stored.path)
        for way in [LinkMode.hardlink, .symlink] {
            try test.directory.write("old", to: "file")
            #expect(chmod(path("file"), 0o755) == 0)
            try stored.export(to: path("file"), overwrite: true, mode: way)
            #expect(mode(stored.path) == own && mode(path("file")) == own)
            // A copy in place of the link is not read-only.
            try stored.export(to: path("file"), overwrite: true, mode: .copy)
            #expect(mode(stored.path) == own)
            #expect(mode(path("file")).map { $0 & 0o200 } == 0o200)
            #expect(unlink(path("file")) == 0)
        }
    }

    /// The permissions of a file, or of a link's target.
    private func mode(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_mode & 0o7777) : nil
    }

    @Test func `the umask is read without a change of it`() {
        #expect(StoredBody.fileMask(in: "Name:\tx\nUmask:\t0027\nState:\tR (running)\n") == 0o027)
        #expect(StoredBody.fileMask(in: "Umask:\t0000\n") == 0)
        #expect(StoredBody.fileMask(in: "Name:\tUmask:\n") == nil && StoredBody.fileMask(in: "Umask:\tx\n") == nil)
    }

    @Test func `a body that another process has moved out is still exported to its readers`() throws {
        for name in ["moved", "moved", "another"] { try stored.move(to: path(name), overwrite: true) }
        #expect(bytes("moved") == body)
        #expect(bytes("another") == body)
        #expect(try stored.error { try $0.move(to: path("no/folder"), overwrite: true) } == .io)
    }

    @Test func `nothing is moved over a file without permission`() throws {
        try test.directory.write("mine", to: "file")
        #expect(try stored.error { try $0.move(to: path("file"), overwrite: false) } == .exists)
        #expect(bytes("file") == Array("mine".utf8))
        #expect(try test.store.read("k") == body)
    }
}

extension StoredBody {
    fileprivate func error(_ body: (StoredBody) throws -> Void) throws -> StoreError.Code? {
        do { try body(self) } catch let error as StoreError { return error.code }
        return nil
    }
}
