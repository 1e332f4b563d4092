import Dispatch
import Glibc
import ImageCache

/// The entry point of the process, which may be a helper. It is not asynchronous, because the runtime would otherwise start its threads
/// before the first statement.
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
