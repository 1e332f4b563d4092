import ArgumentParser
import ImageCache

/// The options for the URLs under which files are stored.
struct KeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Store the file under this URL and look for it there, instead of under its own; for one URL.",
            valueName: "url"))
    var key: String?

    @Option(
        name: .customLong("ignore-param"),
        help: ArgumentHelp(
            "A query parameter that does not say what is asked for, such as a token: files are stored without it. '*' stands for "
                + "any text; may be repeated. For every command: see imgcache.json in the documentation.",
            valueName: "name"))
    var ignoredParameters: [String] = []

    func validate() throws {
        for name in ignoredParameters where name.isEmpty || name.utf8.contains(where: { "&=#?".utf8.contains($0) }) {
            throw ValidationError("--ignore-param takes the name of a query parameter, not '\(name)'.")
        }
        guard key?.isEmpty != true else { throw ValidationError("--key takes a URL.") }
    }

    /// The key rules in a cache directory's file and on the command line.
    func rules(in directory: String) throws(ImageCacheError) -> KeyRules {
        var rules = try KeyRules(directory: directory)
        if !ignoredParameters.isEmpty { rules.ignored.append(.init(ignoring: Set(ignoredParameters))) }
        return rules
    }
}
