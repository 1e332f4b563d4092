import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskStore

/// Files outside of the store that are the store's own.
@Suite struct LinkModeTests {
    private let test: StoreUnderTest
    private let body = pattern(300_000)

    init() throws {
        test = try StoreUnderTest()
        try test.store.put("k", body)
        // Stored long ago.
        try setTime(of: stored().path, to: 1_700_000_000)
    }

    private func path(_ name: String) -> String { test.directory.path(name) }
    private func bytes(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path(name)).map { Array($0) }
    }
    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: test.directory.path("")).sorted()
    }

    private func entry() throws -> StoredEntry { try #require(try test.store.entries(for: EntryKey("k")).first) }
    private func stored() throws -> StoredBody { try #require(try test.store.open(entry())) }
    private func identity(_ path: String) -> FileStatus.Identity? { FileStatus(at: path)?.identity }
    private func isChecked() throws -> Bool {
        let status = try #require(try stored().file.status)
        return try CheckMark.isChecked(entry().boot, status, boot: Boot.current)
    }

    private func setTime(of path: String, to seconds: Int) throws {
        let time = timespec(tv_sec: seconds, tv_nsec: 0)
        try #require(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
    }

    /// Changes a byte in place.
    private func change(_ descriptor: Int32) throws { try #require(pwrite(descriptor, "x", 1, 5) == 1) }

    /// Opens a file for writing, as its owner can.
    private func open(_ name: String) throws -> Int32 {
        _ = chmod(path(name), 0o600)
        let descriptor = Glibc.open(path(name), O_RDWR)
        try #require(descriptor >= 0)
        return descriptor
    }

    @Test(arguments: LinkMode.allCases)
    func `an export has the body's bytes, and replaces a file only if that is allowed`(mode: LinkMode) throws {
        try test.directory.write("old", to: "file")
        #expect(throws: StoreError.self) { try stored().export(to: path("file"), overwrite: false, mode: mode) }
        #expect(bytes("file") == Array("old".utf8))
        for _ in 0..<2 {
            try stored().export(to: path("file"), overwrite: true, mode: mode)
            #expect(bytes("file") == body)
        }
        try stored().export(to: path("new"), overwrite: false, mode: mode)
        #expect(bytes("new") == body)
        #expect(try names() == ["cache", "file", "new"])
        #expect(try test.store.read("k") == body)
        let isOwn = try identity(path("new")) == identity(stored().path)
        #expect(isOwn == (mode == .hardlink))
        #expect(
            ((try? FileManager.default.destinationOfSymbolicLink(atPath: path("new"))) != nil) == (mode == .symlink))
    }

    @Test func `a file equals the body if all its bytes do, and a link to such a file does not`() throws {
        let large = pattern(600_000, seed: 3)
        try test.store.put("large", large)
        for (key, bytes) in [("k", body), ("large", large)] {
            let entry = try #require(try test.store.entries(for: EntryKey(key)).first)
            let stored = try #require(try test.store.open(entry))
            func isEqual(_ other: [UInt8]) throws -> Bool {
                try Data(other).write(to: URL(filePath: path("other")))
                return stored.isEqual(toFileAt: path("other"))
            }
            #expect(try isEqual(bytes))
            #expect(try !isEqual(bytes.dropLast()))
            #expect(try !isEqual(bytes + [0]))
            for place in [0, bytes.count / 2, bytes.count - 1] {
                var other = bytes
                other[place] ^= 1
                #expect(try !isEqual(other))
            }
            #expect(symlink(stored.path, path("symbolic")) == 0)
            #expect(!stored.isEqual(toFileAt: path("symbolic")))
            unlink(path("symbolic"))
            #expect(!stored.isEqual(toFileAt: path("absent")) && !stored.isEqual(toFileAt: "/dev/null"))
            try stored.export(to: path("own"), overwrite: true, mode: .hardlink)
            #expect(stored.isEqual(toFileAt: path("own")))
        }
    }

    @Test(arguments: LinkMode.allCases, [true, false])
    func `an export in any mode replaces a link to a body, and not the body`(mode: LinkMode, exists: Bool) throws {
        let former = try test.store.put("former", pattern(1000, seed: 9))
        let path = test.store.path(of: former)
        #expect(symlink(path, self.path("new")) == 0)
        if !exists { try test.store.remove(former) }
        let files = DiskUsage.files(at: "\(test.path)/bodies").count
        try stored().export(to: self.path("new"), overwrite: true, mode: mode)
        #expect(bytes("new") == body)
        #expect(DiskUsage.files(at: "\(test.path)/bodies").count == files)
        if exists { #expect(try test.store.read("former") == pattern(1000, seed: 9)) }
    }

    @Test(arguments: LinkMode.allCases)
    func `an export in any mode writes into a device`(mode: LinkMode) throws {
        try stored().export(to: "/dev/null", overwrite: true, mode: mode)
        #expect(try ExportTarget("/dev/null") == .stream("/dev/null"))
    }

    /// The ways in which a linked file is changed from outside.
    enum Change: CaseIterable {
        case inPlace, inPlaceWithOldTime, append, truncate, afterRemoval, afterAnotherLink, afterUse
    }

    @Test(arguments: Change.allCases)
    func `a linked body that was changed is a miss, and dropped`(change: Change) throws {
        try stored().export(to: path("link"), overwrite: false, mode: .hardlink)
        if change == .afterUse { #expect(try test.store.read("k") == body) }
        let descriptor = try open("link")
        defer { close(descriptor) }
        switch change {
        case .inPlace, .afterUse: try self.change(descriptor)
        case .inPlaceWithOldTime:
            try self.change(descriptor)
            try setTime(of: path("link"), to: 1_700_000_000)
        case .append: try #require(pwrite(descriptor, "x", 1, off_t(body.count)) == 1)
        case .truncate: try #require(ftruncate(descriptor, 10) == 0)
        case .afterRemoval:
            // The file is still open, and a look-up has seen it right.
            unlink(path("link"))
            #expect(try test.store.read("k") == body)
            try self.change(descriptor)
        case .afterAnotherLink:
            try stored().export(to: path("second"), overwrite: false, mode: .hardlink)
            try self.change(descriptor)
        }
        #expect(try test.store.open(entry()) == nil)
        #expect(try !test.store.has("k"))
        // Another one is stored in its place, whatever the link has.
        try test.store.put("k", body)
        #expect(try test.store.read("k") == body)
    }

    @Test func `a second link to a changed body does not make the body valid`() throws {
        try stored().export(to: path("link"), overwrite: false, mode: .hardlink)
        let opened = try stored()
        let descriptor = try open("link")
        defer { close(descriptor) }
        try change(descriptor)
        try opened.export(to: path("second"), overwrite: false, mode: .hardlink)
        #expect(try test.store.read("k") == nil)
    }

    @Test func `links, touches and removals that change no byte leave the body a hit`() throws {
        try stored().export(to: path("link"), overwrite: false, mode: .hardlink)
        #expect(try isChecked())
        try setTime(of: path("link"), to: 1_600_000_000)
        #expect(try test.store.read("k") == body)
        #expect(try isChecked())
        try stored().export(to: path("second"), overwrite: false, mode: .hardlink)
        #expect(try isChecked())
        unlink(path("link"))
        unlink(path("second"))
        #expect(try test.store.read("k") == body)
        #expect(try isChecked())
        #expect(try CheckMark.isLinked(entry().boot))
    }

    @Test func `a body that was stored a moment ago is compared again at its next use`() throws {
        try test.store.put("k", body)
        try stored().export(to: path("link"), overwrite: false, mode: .hardlink)
        #expect(try entry().boot == CheckMark.linked)
        #expect(try test.store.read("k") == body)
    }

    @Test func `a hard link to another file system becomes a copy, and the body stays valid`() throws {
        let parent = try #require(
            ["/dev/shm", "/var/tmp"].first { identity($0)?.device != identity(test.path)?.device })
        let other = try TestDirectory(in: parent)
        try stored().export(to: other.path("file"), overwrite: false, mode: .hardlink)
        #expect(FileManager.default.contents(atPath: other.path("file")).map { Array($0) } == body)
        #expect(try test.store.read("k") == body)
    }

    @Test func `a link stays when its body is removed, and the next body is a file of its own`() throws {
        let entry = try entry()
        try stored().export(to: path("link"), overwrite: false, mode: .hardlink)
        try test.store.remove(entry)
        #expect(try test.store.open(entry) == nil)
        try test.store.put("k", pattern(1000, seed: 2))
        #expect(bytes("link") == body)
        #expect(try test.store.read("k") == pattern(1000, seed: 2))
    }

    @Test func `a check mark is valid only for its boot and its linked file`() throws {
        let status = try #require(FileStatus(at: stored().path))
        let mark = try #require(CheckMark.checked(after: CheckMark.linked, status, boot: 7, now: .now))
        #expect(CheckMark.isLinked(mark))
        #expect(CheckMark.isChecked(mark, status, boot: 7))
        #expect(!CheckMark.isChecked(mark, status, boot: 9))
        #expect(!CheckMark.isChecked(CheckMark.linked, status, boot: 7))
        #expect(!CheckMark.isChecked(CheckMark.none, status, boot: 0))
        #expect(!CheckMark.isChecked(mark, status, boot: 0))
        #expect(CheckMark.isChecked(7, status, boot: 7))
        #expect(CheckMark.checked(after: 5, status, boot: 7, now: .now) == 7)
        #expect(CheckMark.checked(after: mark, status, boot: 0, now: .now) == nil)
    }
}
