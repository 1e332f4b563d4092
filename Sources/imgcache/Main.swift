import ArgumentParser

@main
struct Main: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "imgcache", version: "0.1.0")
}
