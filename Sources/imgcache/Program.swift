import ArgumentParser
import Glibc

/// Where the process begins.
///
/// Not `Main` itself: with an asynchronous `main`, the runtime would start its threads before the first line of ours runs,
/// and a hit needs none.
@main
enum Program {
    static func main() {
        Output.holdStandardDescriptors()
        if FetchFastPath(arguments: CommandLine.arguments.dropFirst())?.printStoredFile() == true { Output.exit(.done) }
        // Detached: `main` counts as the main actor's, whose thread only waits.
        Task.detached {
            await Main.main()
            Output.exit(.done)
        }
        while true { pause() }
    }
}
