import ArgumentParser
import Glibc
import ImageCache
import ProcessLimits

/// The entry point of the process.
///
/// Separate from `Main`: with an asynchronous `main`, the runtime would start its threads before the first statement,
/// which a hit does not need.
@main
enum Program {
    static func main() {
        DecoderIsolation.runHelperIfAsked()
        Output.holdStandardDescriptors()
        if FetchFastPath(arguments: CommandLine.arguments.dropFirst())?.deliverStoredFile() == true {
            Output.exit(.done)
        }
        DescriptorLimit.raise()
        // Detached, because `main` is isolated to the main actor, whose thread only waits.
        Task.detached {
            await Main.main()
            Output.exit(.done)
        }
        while true { pause() }
    }
}
