import ArgumentParser

struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "imgcache",
        abstract: "A download cache for images and files: resumes interrupted downloads, and never mixes two versions.",
        version: "0.1.0",
        subcommands: [
            FetchCommand.self, CatCommand.self, ThumbCommand.self, ShowCommand.self, ListCommand.self, InfoCommand.self,
            PathCommand.self,
            StatsCommand.self, DirCommand.self,
            RemoveCommand.self, PruneCommand.self, ClearCommand.self, VerifyCommand.self,
            SyncCommand.self, RecordsCommand.self,
            PinCommand.self, PinsCommand.self, UnpinCommand.self,
            ZsyncCommand.self, SignCommand.self, ServeCommand.self, FleetCommand.self,
        ]
    )

    private static func refuseRepeatedOptions(_ arguments: [String]) throws {
        guard RepeatedOptions.isPossible(in: arguments) else { return }
        var (command, rest): (any ParsableCommand.Type, _) = (Main.self, arguments[...])
        while let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == rest.first })
        {
            (command, rest) = (next, rest.dropFirst())
        }
        guard command != Main.self, command != ServeCommand.self,
            let option = RepeatedOptions(of: command).first(in: rest)
        else { return }
        throw ValidationError("\(option) is specified more than once.")
    }

    /// Replaces ArgumentParser's `main`: an invalid command line exits with 2, as is usual for Unix commands.
    static func main() async {
        do {
            try refuseRepeatedOptions(Array(CommandLine.arguments.dropFirst()))
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            switch exitCode(for: error) {
            case .validationFailure:
                Output.message(fullMessage(for: error) + "\n")
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
