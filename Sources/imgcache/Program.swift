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
        refuseUnreadableArguments()
        if FetchFastPath(arguments: CommandLine.arguments.dropFirst())?.deliverStoredFile() == true {
            Output.exit(.done)
        }
        CommandSecrets.hide()
        DescriptorLimit.raise()
        // Detached, because `main` is isolated to the main actor, whose thread only waits.
        Task.detached {
            await Main.main()
            Output.exit(.done)
        }
        while true { pause() }
    }

    /// Refuses an argument that is not UTF-8: as a `String` it would name another file.
    private static func refuseUnreadableArguments() {
        for index in 1..<max(Int(CommandLine.argc), 1) {
            guard let word = CommandLine.unsafeArgv[index] else { return }
            guard String(validatingCString: word) == nil else { continue }
            Output.error("\(String(cString: word)): is not UTF-8 text")
            Output.exit(.usage)
        }
    }
}
