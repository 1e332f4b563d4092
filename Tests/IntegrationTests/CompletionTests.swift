import Foundation
import TestSupport
import Testing

/// The completions of names in the cache, in bash.
@Suite(.timeLimit) struct CompletionTests {
    private let work: TestWorkspace

    init() throws { work = try TestWorkspace() }

    /// Completes the last of the words into which bash divides a command line, and accepts the first candidate.
    private func completed(_ words: [String], _ line: String) async throws -> CommandRunner.Outcome {
        let words = words.map { "'\($0)'" }.joined(separator: " ")
        return try await work.command.shell(
            """
            "$IMGCACHE" --generate-completion-script bash >script
            . ./script
            COMP_WORDS=("$IMGCACHE" \(words))
            COMP_LINE="$IMGCACHE "'\(line)' COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            COMP_POINT=${#COMP_LINE}
            _imgcache "$IMGCACHE" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
            rm script
            eval "printf '%s\\n' ${COMPREPLY[0]}"
            """)
    }

    @Test(arguments: ["info", "path", "rm"])
    func `a stored URL is completed as one word, and nothing in it is run`(command: String) async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 7, size: 10, cacheControl: "max-age=1000"))
        let url = origin.url("/$(touch${IFS}ran);touch${IFS}ran&b='c")
        #expect(try await work.fetch(url).ending == .exited(0))
        let outcome = try await completed([command, ""], "\(command) ")
        #expect(outcome.output == url + "\n", "\(outcome)")
        #expect(work.outputNames.isEmpty)
    }

    @Test func `a URL is completed behind its colons, at which bash divides words`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 7, size: 10, cacheControl: "max-age=1000"))
        #expect(try await work.fetch(origin.url("/a?b=1")).ending == .exited(0))
        let pieces = origin.url("/").split(separator: ":").map(String.init)
        let port = String(try #require(pieces.last).dropLast())
        let outcome = try await completed(
            ["rm", "http", ":", "//127.0.0.1", ":", port], "rm \(origin.url("/").dropLast())")
        #expect(outcome.output == "\(port)/a?b=1\n", "\(outcome)")
    }

    @Test func `the name of a set of pins is completed as one word, and nothing in it is run`() async throws {
        let origin = try ScriptedOrigin(serving: Representation(seed: 7, size: 10, cacheControl: "max-age=1000"))
        let name = "a b`touch ran`$(touch ran)"
        #expect(try await work.run("pin", name, origin.url("/a")).ending == .exited(0))
        let outcome = try await completed(["unpin", "a"], "unpin a")
        #expect(outcome.output == name + "\n", "\(outcome)")
        #expect(work.outputNames.isEmpty)
    }
}
