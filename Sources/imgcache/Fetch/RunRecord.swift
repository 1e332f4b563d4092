import ConcurrencyPrimitives
import Glibc
import TextIdentity
import Units

/// The outcome of each input of a run, for the report and the list of failed inputs.
final class RunRecord: Sendable {
    private struct State {
        var report = RunReport()
        var done: Set<Int> = []
        var errors: [Int: String] = [:]
    }

    private let state = Locked(State())
    private let start = ContinuousClock.now

    func add(_ result: FetchResult, at place: Int) {
        state.withLock { state in
            state.report.add(result)
            if result.exitStatus == .done {
                state.done.insert(place)
            } else {
                state.errors[place] = result.error ?? "failed"
            }
        }
    }

    /// The report of the run.
    func report(of count: Int, _ status: ExitStatus) -> RunReport {
        var report = state.withLock { $0.report }
        report.files = count
        report.notBegun = count - report.arrived - report.failed
        report.seconds = (ContinuousClock.now - start).inSeconds
        report.exitCode = status.rawValue
        return report
    }

    /// Throws if one of the files of `--failed` and `--report` could not be written, before anything is fetched.
    ///
    /// - Parameter folder: The folder of the run's files, which may be made for them, and for these two.
    static func check(_ options: DataSetOptions, beside folder: String?) throws {
        let made = folder.flatMap { access($0, F_OK) != 0 ? parts(of: $0[...]) : nil }
        for case let path? in [options.failed, options.report] {
            if let made, let parent = path.splitAtLastSlash?.folder, access(String(parent), F_OK) != 0,
                parts(of: parent).starts(with: made)
            {
                continue
            }
            try OutputDestination.check(parentOf: path)
        }
    }

    /// The parts of the absolute path of a file or folder that may be missing.
    private static func parts(of path: Substring) -> [ByteText] {
        guard let absolute = realpath(path.isEmpty ? "/" : String(path), nil) else {
            if path == "." { return [] }
            guard let (folder, name) = path.splitAtLastSlash else { return parts(of: ".") + [path.asBytes] }
            return parts(of: folder) + (name.isEmpty || name == "." ? [] : [name.asBytes])
        }
        defer { free(absolute) }
        return String(cString: absolute).pathParts.map(\.asBytes)
    }

    /// Writes the files of `--failed` and `--report`.
    ///
    /// - Throws: ``Failure`` if one of them cannot be written.
    func write(_ options: DataSetOptions, _ inputs: [FetchInput], _ status: ExitStatus) throws {
        let state = state.withLock { $0 }
        if let path = options.failed {
            let text = FailedList.text(inputs, done: state.done, errors: state.errors)
            // Only for the user, as the URLs may be signed.
            try AtomicFile.write(Array(text.utf8), to: path, overwrite: true, mode: 0o600)
        }
        if let path = options.report {
            try AtomicFile.write(report(of: inputs.count, status).text, to: path, overwrite: true)
        }
    }
}
