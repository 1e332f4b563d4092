import CLinux
import ConcurrencyPrimitives
import Glibc

/// The generations of a cache directory's resources, from the file that lies there now.
///
/// Someone may delete the directory under us, or replace the file. Whoever changes the store looks whether the mapped file is
/// still the one that the others see; whoever only reads looks once in ``checkInterval``.
final class Generations: Sendable {
    private struct State {
        var table: GenerationTable?
        /// Milliseconds of the monotonic clock.
        var checkedAt: Int64 = 0
    }

    /// Milliseconds after which a look at the directory is due.
    private static let checkInterval: Int64 = 1000

    private let paths: Paths
    private let isReadOnly: Bool
    private let state = Locked(State())

    init(paths: Paths, isReadOnly: Bool) {
        self.paths = paths
        self.isReadOnly = isReadOnly
    }

    /// The table that the processes on the directory share, looked for at most so long ago.
    func table(within interval: Int64 = checkInterval) -> GenerationTable {
        let now = Self.now
        return state.withLock { state in
            if let table = state.table, table.identity != nil, now - state.checkedAt < interval { return table }
            state.checkedAt = now
            if let table = state.table, isInPlace(table) { return table }
            let table = opened() ?? state.table.flatMap { $0.identity == nil ? $0 : nil } ?? GenerationTable()
            state.table = table
            return table
        }
    }

    /// The table as it is in the directory at this moment: for whoever changes something.
    var tableNow: GenerationTable { table(within: 0) }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    private func isInPlace(_ table: GenerationTable) -> Bool {
        guard let identity = table.identity, let status = FileStatus(at: paths.generations) else { return false }
        return status.identity == identity && status.size == Int64(GenerationTable.byteCount)
    }

    // MARK: The file

    /// The shared table; nil where there is none and none can be made.
    private func opened() -> GenerationTable? {
        for _ in 0..<3 {
            // Nobody's FIFO is opened.
            if FileStatus(at: paths.generations)?.isRegular == true,
                let file = try? File(paths.generations, isReadOnly ? O_RDONLY : O_RDWR)
            {
                if GenerationTable.isTable(file) || isReadOnly { return GenerationTable(file) }
                // Cut, or another program's: a new one takes its place. Whoever has this one mapped finds that out by a look.
                if unlink(paths.generations) != 0, errno != ENOENT { return nil }
            }
            if isReadOnly { return nil }
            // Whole before it has its name. Of several processes the first one's stays.
            guard (try? create()) != nil || FileStatus(at: paths.generations) != nil else { return nil }
        }
        return nil
    }

    private func create() throws(StoreError) {
        let new = try SmallBodyFile(in: paths)
        guard fchmod(new.file.descriptor, 0o600) == 0 else { throw .system("cannot set the mode", path: paths.root) }
        let bytes = GenerationTable.initialBytes
        var failure: StoreError?
        bytes.withUnsafeBytes { bytes in
            do throws(StoreError) { try new.write(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        try new.install(paths.generations)
    }
}
