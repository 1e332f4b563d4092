import DiskStore

/// The findings of `self-test` and `doctor`.
struct Findings {
    enum Verdict: String, Encodable {
        case ok
        /// Works with less, or deserves attention.
        case note
        case problem
    }

    struct Finding: Encodable {
        var name: String
        var verdict: Verdict
        var text: String
    }

    private(set) var all: [Finding] = []

    var hasProblem: Bool { all.contains { $0.verdict == .problem } }

    mutating func add(_ name: String, _ verdict: Verdict = .ok, _ text: String) {
        all.append(Finding(name: name, verdict: verdict, text: text))
    }

    /// Adds the file system of a cache directory.
    mutating func addFileSystem(of path: String) {
        let kind = FileSystemKind(at: path)
        let cost = "which other machines may use too: the index is slower there, and resuming relies on no locks"
        add("disk", kind.isShared ? .note : .ok, kind.isShared ? "\(kind.name), \(cost)" : kind.name)
    }

    /// Prints them: a line each, or one JSON object each.
    func print(asJSON: Bool) throws {
        let width = all.map(\.name.count).max() ?? 0
        for finding in all {
            if asJSON {
                try Output.json(finding)
                continue
            }
            let verdict = finding.verdict.rawValue.leftAligned(in: 7)
            Output.line("\(verdict)  \(finding.name.leftAligned(in: width))  \(finding.text.forTerminal)")
        }
    }
}
