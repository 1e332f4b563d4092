import CLinux
import ConcurrencyPrimitives
import Glibc

/// The generations of a cache directory's resources, from its current file.
///
/// The directory may be deleted, or the file replaced, while the process runs. Before it changes the store, a process checks that the
/// mapped file is still the one in the directory. For reading it checks only once in ``lookInterval``.
final class Generations: Sendable {
    private struct State {
        var table: GenerationTable?
        /// In milliseconds of ``CoarseClock``.
        var checkedAt: Int64 = 0
    }

    /// The time in milliseconds after which the directory is checked again.
    private static let checkInterval: Int64 = 1000

    private let paths: Paths
    private let isReadOnly: Bool
    private let isMapped: Bool
    private let open: @Sendable (_ path: String, _ flags: Int32) throws(StoreError) -> File
    private let state = Locked(State())

    /// - Parameters:
    ///   - isMapped: False to read the file instead of mapping it, because another machine may change it.
    ///   - open: Opens the file.
    init(
        paths: Paths, isReadOnly: Bool, isMapped: Bool,
        open: @escaping @Sendable (_ path: String, _ flags: Int32) throws(StoreError) -> File = {
            (path, flags) throws(StoreError) in try File(path, flags)
        }
    ) {
        self.paths = paths
        self.isMapped = isMapped
        self.isReadOnly = isReadOnly
        self.open = open
    }

    /// The table shared with other processes, checked at most a second ago. While its file cannot be opened: one of this process alone, in which
    /// no earlier generation is current.
    func table() -> GenerationTable {
        state.withLock { state in
            let now = CoarseClock.now
            if let table = state.table, table.identity != nil, now - state.checkedAt < Self.checkInterval {
                return table
            }
            return (try? checked(&state)) ?? use(nil, &state)
        }
    }

    /// The table in the directory at this moment: required before changes.
    ///
    /// - Throws: If there are no descriptors or no memory for it. Other processes would not see a change of another table.
    func tableNow() throws(StoreError) -> GenerationTable {
        try state.withLock { (state) throws(StoreError) in try checked(&state) }
    }

    private func checked(_ state: inout State) throws(StoreError) -> GenerationTable {
        state.checkedAt = CoarseClock.now
        // A shared file system shows the changes of other machines to those who open the file after them.
        if isMapped, let table = state.table, isInPlace(table) { return table }
        return use(try opened(), &state)
    }

    /// Uses a shared table, or else one of this process.
    private func use(_ shared: GenerationTable?, _ state: inout State) -> GenerationTable {
        let table = shared ?? state.table.flatMap { $0.identity == nil ? $0 : nil } ?? GenerationTable()
        state.table = table
        return table
    }

    private func isInPlace(_ table: GenerationTable) -> Bool {
        guard let identity = table.identity, let status = FileStatus(at: paths.generations) else { return false }
        return status.identity == identity && status.size == Int64(GenerationTable.byteCount)
    }

    // MARK: The file

    /// The shared table; nil if it neither exists nor can be created.
    ///
    /// - Throws: If there are no descriptors or no memory for it.
    private func opened() throws(StoreError) -> GenerationTable? {
        for _ in 0..<3 {
            do throws(StoreError) {
                let file = try open(paths.generations, isReadOnly ? O_RDONLY : O_RDWR)
                if GenerationTable.isTable(file) {
                    if let table = GenerationTable(file, isMapped: isMapped) { return table }
                    if errno == ENOMEM { throw .system("cannot map", path: paths.generations) }
                    return nil
                }
            } catch  where error.isOfResources {
                throw error
            } catch {
                // It is missing, or cannot be used.
            }
            if isReadOnly { return nil }
            // Truncated, of another program, or not a file: it is replaced. Processes that map this one detect the replacement by a check.
            guard removeName(paths.generations) else { return nil }
            // Complete before it gets its name. Of several processes the first one's file remains.
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
