import ArgumentParser
import ImageCache

/// The options for a store that machines share.
struct RemoteStoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Share downloads with other machines through an S3-compatible store: look there before asking the server, and upload "
                + "what was downloaded. Endpoint, region and keys are taken from the variables and files of AWS's tools.",
            valueName: "s3://bucket/prefix"))
    var remote: String?

    @Flag(
        help: """
            Share also what an owner, or an Authorization field or token, was given: among those who name the same owner, or have the same. \
            Without an owner, nothing that was requested with cookies, --netrc, or a user and a password is shared.
            """)
    var remotePrivate = false

    func validate() throws {
        guard remote != nil || !remotePrivate else { throw ValidationError("--remote-private goes with --remote.") }
        guard let remote else { return }
        do { _ = try S3Location(remote) } catch { throw ValidationError("--remote: \(error)") }
    }

    /// The settings; nil without the option, or, with a warning, without credentials: a fetch does not fail for that.
    func configuration(quietly isQuiet: Bool) -> RemoteStoreConfiguration? {
        guard let remote else { return nil }
        do {
            var configuration = try RemoteStoreConfiguration(remote)
            configuration.sharesPrivateResponses = remotePrivate
            // A run is short, and one that finds everything on the disk asks nobody.
            configuration.invalidationInterval = nil
            return configuration
        } catch {
            if !isQuiet { Output.warning("nothing is shared with other machines: \(error)".forTerminal) }
            return nil
        }
    }
}
