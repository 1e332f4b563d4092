import ArgumentParser
import Glibc
import HTTPSemantics
import URLSigning
import Units

struct SignCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign", abstract: "Sign URLs for a service with the same key.",
        discussion: """
            Prints each URL with its signature (HMAC-SHA256 over path and query), one a line in the order given. What is \
            not an absolute URL is taken for path and query.

            The key file has one key a line, id:base64, and must not be readable by everybody. The first key signs; \
            every key verifies, so that keys can be rotated. A key is made by
              echo "2026-11:$(openssl rand -base64 32)"
            """)

    @Argument(help: ArgumentHelp("The URLs.", valueName: "url"))
    var urls: [String]

    @Option(help: ArgumentHelp("The keys, one id:base64 a line.", valueName: "file"))
    var keyFile: String

    @Option(help: ArgumentHelp("Sign with this key instead of the file's first.", valueName: "id"))
    var keyID: String?

    @Option(
        help: ArgumentHelp(
            "The time for which the URLs are served (30s, 15m, 12h, 7d), or @SECONDS since 1970 (default: unlimited).",
            valueName: "time"))
    var expires: Expiry?

    @OptionGroup var format: FormatOptions

    private struct Report: Encodable {
        var url: String
        var keyID: String
        var expires: Int64?

        private enum CodingKeys: String, CodingKey {
            case url, expires
            case keyID = "key_id"
        }
    }

    func run() throws {
        let keys: SigningKeys
        do throws(SigningKeyError) { keys = try SigningKeys(file: keyFile) } catch { throw refused(error.description) }
        let signer = URLSigner(keys)
        let expiry = expires?.time(after: Int64(time(nil)))
        // All or nothing, because a partial output is easily mistaken for a complete one.
        let signed = try urls.map { url in
            let (origin, target) = Self.parts(of: url)
            do throws(SigningError) {
                return origin + (try signer.sign(target: target, expiry: expiry, keyID: keyID))
            } catch {
                throw refused("\(url): \(error)")
            }
        }
        for url in signed {
            guard format.json else {
                Output.line(url)
                continue
            }
            try Output.json(Report(url: url, keyID: keyID ?? keys.firstID, expires: expiry))
        }
    }

    private func refused(_ message: String) -> ExitCode {
        Output.error(message)
        return ExitCode(ExitStatus.usage.rawValue)
    }

    /// Scheme and authority, which are not signed, and path and query, which are.
    static func parts(of url: String) -> (origin: String, target: String) {
        guard let (origin, target) = URLText.separatingTarget(url) else { return ("", url) }
        // RFC 9112 section 3.2.1: an empty path is sent as a slash.
        return (String(origin), target.hasPrefix("/") ? String(target) : "/" + target)
    }
}

/// The expiry of a signed URL: a time from now, or a second since 1970.
enum Expiry: Equatable, ExpressibleByArgument {
    case after(TimeSpan)
    case at(Int64)

    init?(argument: String) {
        if argument.first == "@" {
            guard let time = Int64(argument.dropFirst()), time >= 0 else { return nil }
            self = .at(time)
        } else {
            guard let span = TimeSpan(argument: argument) else { return nil }
            self = .after(span)
        }
    }

    func time(after now: Int64) -> Int64 {
        switch self {
        case .after(let span): now + Int64(span.seconds.rounded(.up))
        case .at(let time): time
        }
    }
}
