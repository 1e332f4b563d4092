import TestSupport
import Testing

/// The command line itself, as the system shows and passes it.
@Suite(.timeLimit) struct ArgumentTests {
    private let work: TestWorkspace

    init() throws { work = try TestWorkspace() }

    @Test(arguments: [
        "fetch -o $'o\\xe9' http://127.0.0.1:9/", "ls --cache-dir $'c\\xe9'", "thumb -d . $'caf\\xe9.jpg'",
    ])
    func `an argument that is not UTF-8 is refused, and names no other file`(line: String) async throws {
        let outcome = try await work.command.shell("\"$IMGCACHE\" \(line)")
        #expect(outcome.ending == .exited(2) && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errorOutput.contains("is not UTF-8 text"), "\(outcome)")
        #expect(work.outputNames.isEmpty)
    }

    @Test func `the list of processes shows no password`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 3, size: 10))
        let url = origin.url("/a").split(separator: "//", maxSplits: 1).joined(separator: "//ann:secret@")
        // The file of -i is a pipe that stays open until the arguments were read.
        let outcome = try await work.command.shell(
            """
            mkfifo list
            "$IMGCACHE" fetch -q -u me:secret --header='X-Api-Key: secret' -i list '\(url)' & process=$!
            exec 3>list
            tr '\\0' ' ' </proc/$process/cmdline
            exec 3>&-
            wait
            """)
        #expect(outcome.output.contains("fetch -q -u xxxxxxxxx"), "\(outcome)")
        #expect(!outcome.output.contains("secret"), "\(outcome)")
    }

    @Test(arguments: [
        ["https://u:secret@h/y"], ["fetch", "--expand", "https://u:secret@h/[1-999999]"], ["ls", "http://u:secret@h"],
    ])
    func `a message about the command line shows no password`(line: [String]) async throws {
        let outcome = try await work.command.run(line)
        #expect(outcome.ending == .exited(2) && !outcome.errorOutput.contains("secret"), "\(outcome)")
    }
}
