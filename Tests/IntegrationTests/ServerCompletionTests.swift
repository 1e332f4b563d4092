import Foundation
import TestSupport
import Testing

/// The completions of the service's options, which `scripts/server-completions` makes from its help.
@Suite(.timeLimit) struct ServerCompletionTests {
    private static let server = CommandRunner.built("imgcache-server")
    private static let generator = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../scripts/server-completions").standardized.path

    @Test(arguments: [
        ("imgcache serve --origin http://a --cac", "--cache-dir"), ("imgcache-server --cac", "--cache-dir"),
        ("imgcache serve --log-format ", "text json"), ("imgcache-server --log-format j", "json"),
        ("imgcache serve --listen ", ""), ("imgcache fetch --sha", "--sha256"),
    ])
    func `bash completes the options of the service`(line: String, words: String) async throws {
        let directory = try TestDirectory()
        let command = CommandRunner(cacheDirectory: directory.path("cache"), workingDirectory: directory.path)
        let outcome = try await command.shell(
            """
            "$IMGCACHE" --generate-completion-script bash >own
            '\(Self.generator)' bash '\(Self.server)' own >imgcache
            '\(Self.generator)' bash '\(Self.server)' >server
            . ./imgcache; . ./server
            IFS=' ' read -r -a COMP_WORDS <<<'\(line)'
            case '\(line)' in *' ') COMP_WORDS+=('');; esac
            COMP_LINE='\(line)' COMP_POINT=${#COMP_LINE} COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            name=${COMP_WORDS[0]//-/_}
            "_$name" "${COMP_WORDS[0]}" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
            echo "${COMPREPLY[*]}"
            """)
        #expect(outcome.output == words + "\n", "\(outcome.errorOutput)")
    }
}
