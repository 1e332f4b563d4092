import CSQLite
import DiskStore
import Foundation
import Glibc

/// The properties of a directory that must hold after any interruption of the scenario.
struct Inspection {
    let directory: String
    let page: SharedPage
    /// The result of each undisturbed step: version by key.
    let expected: [[String: UInt64]]
    /// The way in which the previous process ended.
    let kind: Kind
    let clockSeed: UInt64

    enum Kind {
        /// Killed: the step under way has happened or not, those before it have.
        case killed
        /// A call failed: the process went on.
        case failed
        /// The machine lost power: what was not flushed may be gone, but nothing wrong is handed out.
        case powerCut
    }

    func run() throws {
        let steps = page.completedSteps
        let promise = (
            key: page.promisedKey, version: page.promisedVersion, bytes: page.promisedBytes, page.isCommitting
        )
        if kind != .powerCut { try expectCapacity("before anything is opened", beyond: 256 << 10) }
        let session = Session(
            directory: directory, page: page, clockSeed: clockSeed, boot: kind == .powerCut ? 2 : 1)
        let found = try versions(session)
        var failed: [EntryKey] = []
        _ = try session.store.verify { entry, integrity, _ in
            if !integrity.isIntact, entry.key.value != Scenario.damagedKey { failed.append(entry.key) }
            return true
        }
        guard failed.isEmpty else { throw Failure("verify finds bodies that are not sound: \(failed)") }
        if kind == .killed {
            try compare(found, after: steps, underWay: promise.3 ? promise.key : nil)
            try expect(promise, found, session)
        }
        try session.wait { [store = try session.store] in try await store.sweep() }
        try expectCapacity("after a sweep")
        try expectReservations()
        try completePartials(session)
        try expectOrder(session)
        // And the next run finds nothing in its way.
        page.clear()
        try Scenario.run(session)
        guard try versions(session) == expected.last else {
            throw Failure("the next run left \(try versions(session))")
        }
        try expectOrder(session)
        session.close()
        try expectCapacity("after the next run")
        try expectSums()
    }

    // MARK: Entries

    /// The versions that are stored, each read and compared byte for byte.
    private func versions(_ session: Session) throws -> [String: UInt64] {
        var found: [String: UInt64] = [:]
        var entries: [StoredEntry] = []
        try session.store.list(by: .created) { entry in
            entries.append(entry)
            return true
        }
        for entry in entries {
            guard let stored = try session.store.open(entry) else {
                if kind == .powerCut || entry.key.value == Scenario.damagedKey { continue }
                throw Failure("the body of \(entry.key) is missing or wrong")
            }
            let body = try Body(key: entry.key, header: entry.metadata)
            guard try body.matches(stored) else {
                if body.key == Scenario.damagedKey { continue }
                throw Failure("wrong bytes under \(entry.key), version \(body.version)")
            }
            guard found.updateValue(body.version, forKey: body.key) == nil else {
                throw Failure("\(entry.key) is stored twice")
            }
        }
        return found
    }

    /// The results of earlier steps must exist. The result of the interrupted step exists completely or not at all.
    private func compare(_ found: [String: UInt64], after steps: Int, underWay: String?) throws {
        let before = steps > 0 ? expected[steps - 1] : [:]
        let after = expected[min(steps, expected.count - 1)]
        for key in Set(found.keys).union(before.keys).union(after.keys) {
            let isRight = found[key] == before[key] || found[key] == after[key]
            // Steps that store several in turn, and take them away again.
            let passing = ["j": "pattern", "k": "pattern", "l": "pattern", Scenario.damagedKey: "damaged"]
            let isPassing = steps < expected.count && found[key] == 1
            guard isRight || isPassing && passing[key].map(Scenario.steps[steps].name.contains) == true else {
                throw Failure(
                    "after \(steps) steps \(key) has version \(found[key] ?? 0), not \(before[key] ?? 0) or \(after[key] ?? 0)"
                )
            }
        }
    }

    // MARK: Partials

    /// No full block that was received is fetched again.
    private func expect(
        _ promise: (key: String, version: UInt64, bytes: Int64, isCommitting: Bool), _ found: [String: UInt64],
        _ session: Session
    ) throws {
        guard promise.bytes > 0 else { return }
        if promise.isCommitting && found[promise.key] == promise.version { return }
        let writer = try session.store.beginBody(for: EntryKey(promise.key))
        guard let held = writer.held, held.bytesHeld >= promise.bytes,
            try Body(key: writer.key, header: held.header).version == promise.version
        else {
            throw Failure(
                "of \(promise.bytes) bytes received of \(promise.key), \(writer.held?.bytesHeld ?? 0) are held")
        }
        try writer.keep()
    }

    /// Completes each partial with its missing ranges: the result must match its header.
    private func completePartials(_ session: Session) throws {
        for partial in try session.store.partials() {
            if partial.isInUse { throw Failure("the partial of \(partial.key) is in use by nobody") }
            let body = try Body(key: partial.key, header: partial.header)
            try session.resume(body)
            guard let entry = try session.entry(body.key), let stored = try session.store.open(entry),
                try Body(key: entry.key, header: entry.metadata).matches(stored)
            else { throw Failure("\(body.key) is wrong after it was resumed") }
        }
    }

    // MARK: The directory

    private func expectCapacity(_ moment: String, beyond: Int64 = 0) throws {
        let used = allocated(directory)
        guard used <= Session.capacity + beyond else { throw Failure("\(used) bytes are used \(moment)") }
    }

    /// After a sweep, what lies in the folders is what the index knows, and the other way round.
    private func expectOrder(_ session: Session) throws {
        var known: Set<String> = []
        try session.store.list { entry in
            known.insert(try session.store.path(of: entry))
            return true
        }
        let bodies = Set(files(below: "\(directory)/bodies"))
        guard bodies == known else {
            throw Failure(
                "files nobody knows: \(bodies.subtracting(known)); entries without: \(known.subtracting(bodies))")
        }
        let partials = files(below: "\(directory)/partials")
        guard try session.store.partials().isEmpty == partials.isEmpty else {
            throw Failure("left behind: \(partials)")
        }
        let top = Set((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
        var own: Set = [
            "CACHEDIR.TAG", "bodies", "partials", "locks", "generations", "index.sqlite", "index.sqlite-wal",
            "index.sqlite-shm",
        ]
        // SQLite takes a page that cannot be read (EIO) for a damaged one.
        if kind == .failed { own.formUnion(["index.sqlite.aside", "index.sqlite.aside-wal"]) }
        guard top.isSubset(of: own) else { throw Failure("in the directory: \(top.subtracting(own))") }
        try expectSums()
    }

    /// After a sweep, no more space is reserved for partials than their files have.
    private func expectReservations() throws {
        let sizes = files(below: "\(directory)/partials").map { max(allocated($0), 4096) }
        let isExact = "SELECT total(reserved) <= \(sizes.reduce(0, +)) FROM partials"
        guard try answer(isExact) == "1" else { throw Failure("more is reserved than the partials have: \(sizes)") }
    }

    /// The totals by which the capacity is kept are the sums of what they count.
    private func expectSums() throws {
        let sums = try answer(
            """
            SELECT (SELECT entries = (SELECT count(*) FROM entries) AND bodies = (SELECT total(allocated) FROM entries)
            AND partials = (SELECT total(reserved) FROM partials) AND doomed = (SELECT total(allocated) FROM doomed)
            AND folders = (SELECT total(allocated) FROM folders)
            AND entries = (SELECT count(*) FROM access JOIN entries ON entry = entries.id) FROM totals) || ' ' ||
            (SELECT group_concat(quick_check) FROM pragma_quick_check)
            """)
        guard sums == "1 ok" else { throw Failure("sums and index: \(sums)") }
    }

    /// The first column of the only row that the index answers.
    private func answer(_ question: String) throws -> String {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        guard sqlite3_open_v2("\(directory)/index.sqlite", &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK else {
            throw Failure("the index cannot be opened")
        }
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(database, question, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW, let text = sqlite3_column_text(statement, 0)
        else { throw Failure("the index cannot be read: \(String(cString: sqlite3_errmsg(database)))") }
        return String(cString: text)
    }

    private func files(below path: String) -> [String] {
        (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []).map { "\(path)/\($0)" }
            .filter {
                var status = stat()
                return lstat($0, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            }
    }

    private func allocated(_ path: String) -> Int64 {
        let all = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return ([path] + all.map { "\(path)/\($0)" }).reduce(0) {
            var status = stat()
            return lstat($1, &status) == 0 ? $0 + Int64(status.st_blocks) * 512 : $0
        }
    }
}
