import ArgumentParser

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "imgcache",
        abstract: "The download cache for images and files: resumes after a cut or a kill, never splices two versions.",
        version: "0.1.0",
        subcommands: [
            FetchCommand.self, ListCommand.self, InfoCommand.self, PathCommand.self, StatsCommand.self, DirCommand.self,
            RemoveCommand.self, PruneCommand.self, ClearCommand.self, VerifyCommand.self,
        ]
    )
}
