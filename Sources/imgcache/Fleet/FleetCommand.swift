import ArgumentParser

/// The commands for the bucket shared by machines.
struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Prepare, examine and tidy the S3-compatible store that machines share (--remote).",
        discussion: "Endpoint, region and keys are taken from the variables and files of AWS's tools.",
        subcommands: [
            FleetInitCommand.self, FleetStatusCommand.self, FleetVerifyCommand.self, FleetCollectCommand.self,
        ])
}
