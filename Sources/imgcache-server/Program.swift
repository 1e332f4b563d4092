import Dispatch
import Glibc
import ImageCache

/// The entry point of the process, which may be that of a helper. Not asynchronous: the runtime would start its threads before the
/// first statement.
@main
enum Program {
    static func main() {
        DecoderIsolation.runHelperIfAsked()
        // Detached, because `main` is isolated to the main actor.
        Task.detached {
            let arguments = Array(CommandLine.arguments.dropFirst())
            exit(await ServerCommand.run(arguments, isolation: .ownProgram))
        }
        dispatchMain()
    }
}
