import ArgumentParser
import Glibc
import ImageCache
import Units

/// The environment variables that stand for options, apart from the one of the cache directory, which may have any value.
enum EnvironmentSettings {
    static let capacityVariable = "IMGCACHE_CAPACITY"

    /// The text in a variable; `nil` if it is unset or empty.
    static func text(of variable: String) -> String? {
        getenv(variable).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    static var capacity: ByteSize? { text(of: capacityVariable).flatMap { ByteSize(text: $0) } }

    /// An error for each variable with a value that its option cannot have.
    static var errors: [(option: String, message: String)] {
        var errors: [(option: String, message: String)] = []
        if let text = text(of: capacityVariable), ByteSize(text: text) == nil {
            errors.append(
                ("--capacity", "\(capacityVariable) must be a number of bytes, such as 500MB or 2GiB, not '\(text)'."))
        }
        if let text = text(of: LinkMode.variable), LinkMode(rawValue: text) == nil {
            let modes = LinkMode.allCases.map(\.rawValue).joined(separator: ", ")
            errors.append(("--link-mode", "\(LinkMode.variable) must be one of \(modes), not '\(text)'."))
        }
        return errors
    }

    /// Refuses variables with wrong values, unless the command line has their options. Every command refuses them, so that an error does
    /// not wait for the first command that uses the value.
    static func validate(for arguments: [String]) throws {
        let errors = errors
        if errors.isEmpty { return }
        let (command, rest) = Main.command(in: arguments)
        let given = CommandOptions(of: command).given(in: rest)
        guard let error = errors.first(where: { !given.contains($0.option) }) else { return }
        throw ValidationError(error.message)
    }
}
