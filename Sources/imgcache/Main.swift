import ArgumentParser
import Glibc
import ImageCodec
import ProgramVersion
import Transfer

struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "imgcache",
        abstract: "A download cache for images and files: resumes interrupted downloads, and never mixes two versions.",
        version: ProgramVersion.number,
        groupedSubcommands: [
            CommandGroup(
                name: "Download",
                subcommands: [
                    FetchCommand.self, CatCommand.self, ThumbCommand.self, ShowCommand.self, ZsyncCommand.self,
                ]),
            CommandGroup(
                name: "Look into the cache",
                subcommands: [
                    ListCommand.self, InfoCommand.self, PathCommand.self, StatsCommand.self, DirCommand.self,
                ]),
            CommandGroup(
                name: "Clean up and check",
                subcommands: [RemoveCommand.self, PruneCommand.self, ClearCommand.self, VerifyCommand.self]),
            CommandGroup(
                name: "Set up and diagnose",
                subcommands: [ConfigCommand.self, SelfTestCommand.self, DoctorCommand.self]),
            CommandGroup(
                name: "Keep sets of files",
                subcommands: [
                    PinCommand.self, PinsCommand.self, UnpinCommand.self, SyncCommand.self, RecordsCommand.self,
                ]),
            CommandGroup(
                name: "Serve", subcommands: [ServeCommand.self, SignCommand.self, FleetCommand.self]),
        ]
    )

    /// The command that arguments name, and the arguments after its name.
    static func command(
        in arguments: some Collection<String>
    ) -> (command: any ParsableCommand.Type, rest: ArraySlice<String>) {
        var (command, rest): (any ParsableCommand.Type, _) = (Main.self, Array(arguments)[...])
        while let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == rest.first })
        {
            (command, rest) = (next, rest.dropFirst())
        }
        return (command, rest)
    }

    private static func refuseRepeatedOptions(_ arguments: [String]) throws {
        guard CommandOptions.mayRepeat(in: arguments) else { return }
        let (command, rest) = command(in: arguments)
        guard command != Main.self, command != ServeCommand.self,
            let option = CommandOptions(of: command).firstRepeated(in: rest)
        else { return }
        throw ValidationError("\(option) is specified more than once.")
    }

    /// Replaces ArgumentParser's `main`: an invalid command line exits with 2, as is usual for Unix commands.
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments == ["--version", "--verbose"] || arguments == ["--verbose", "--version"] {
            ImageCodecLibraries.prepare()
            Output.line(ProgramVersion.report(of: "imgcache", libcurl: TransferEngine.libraryReport))
            Output.exit(.done)
        }
        if let help = BriefHelp.text(for: arguments, columns: Output.width(of: STDOUT_FILENO)) {
            Output.line(help)
            Output.exit(.done)
        }
        var settings: Settings?
        do {
            try refuseRepeatedOptions(arguments)
            if Settings.mayApply(to: arguments) {
                try EnvironmentSettings.validate(for: arguments)
                settings = try Settings.load()
            }
            var command = try parseAsRoot(settings?.applied(to: arguments) ?? arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            Output.error("\(failure)")
            Output.exit(failure.status)
        } catch {
            switch exitCode(for: error) {
            case .validationFailure:
                Output.message(UsageAdvice.message(fullMessage(for: error), for: arguments) + "\n")
                if let settings { Output.error("options come also from \(settings.path)") }
                Output.exit(.usage)
            case .success:
                // Help, the version, completions.
                Output.line(fullMessage(for: error))
                Output.exit(.done)
            default: exit(withError: error)
            }
        }
    }
}
