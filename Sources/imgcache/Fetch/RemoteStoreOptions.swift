import ArgumentParser
import Fleet
import ImageCache
import Units

/// The options for a store shared with other machines.
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

    @Option(
        help: ArgumentHelp(
            "With --remote: the time to resolve, connect and complete the TLS handshake (default: 200ms).",
            valueName: "time"))
    var remoteConnectTimeout: TimeSpan?

    @Option(
        help: ArgumentHelp(
            """
            With --remote: the time without a byte from the store; the server is then asked, and the store left alone for a while (default: \
            1s).
            """, valueName: "time"))
    var remoteTimeout: TimeSpan?

    func validate() throws {
        guard remote != nil || !remotePrivate else { throw ValidationError("--remote-private goes with --remote.") }
        for (name, time) in [("--remote-connect-timeout", remoteConnectTimeout), ("--remote-timeout", remoteTimeout)] {
            guard let time else { continue }
            guard remote != nil else { throw ValidationError("\(name) goes with --remote.") }
            guard time.seconds >= 0.001 else { throw ValidationError("\(name): at least 1ms.") }
        }
        guard let remote else { return }
        do { _ = try S3Location(remote) } catch { throw ValidationError("--remote: \(error)") }
    }

    /// The configuration; nil without the option. Also nil, with a warning, without credentials, because a fetch should not fail for that.
    func configuration(quietly isQuiet: Bool) -> RemoteStoreConfiguration? {
        guard let remote else { return nil }
        do {
            var configuration = try RemoteStoreConfiguration(remote)
            configuration.sharesPrivateResponses = remotePrivate
            if let remoteConnectTimeout { configuration.connectTimeout = remoteConnectTimeout.duration }
            if let remoteTimeout { configuration.firstByteTimeout = remoteTimeout.duration }
            // A run is short, and one that finds everything on disk contacts no server.
            configuration.invalidationInterval = nil
            return configuration
        } catch {
            if !isQuiet { Output.warning("nothing is shared with other machines: \(error)") }
            return nil
        }
    }
}
