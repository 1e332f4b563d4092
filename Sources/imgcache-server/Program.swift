import Glibc

@main
enum Program {
    static func main() async {
        exit(await ServerCommand.run(Array(CommandLine.arguments.dropFirst())))
    }
}
