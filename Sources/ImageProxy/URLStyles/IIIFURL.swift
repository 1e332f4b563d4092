/// A URL of the IIIF Image API 3.0: `/IDENTIFIER/REGION/SIZE/ROTATION/QUALITY.FORMAT`, `/IDENTIFIER/info.json` or `/IDENTIFIER`.
///
/// The identifier is the path of the original below the origin, with `%2F` for its slashes.
struct IIIFURL: Equatable {
    enum Resource: Equatable {
        /// The base URI, which leads to the description.
        case base
        /// `info.json`
        case description
        case image(IIIFImage)
    }

    /// The identifier as the client sent it. It has only characters of URLs.
    let identifier: String
    let resource: Resource

    /// Returns nil if the target has another form.
    init?(_ target: String) throws(ImageOptionError) {
        let path = target.prefix { $0 != "?" }
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        switch segments.count {
        case 1 where !segments[0].isEmpty: resource = .base
        case 2 where segments[1] == "info.json": resource = .description
        case 5: resource = .image(try IIIFImage(Array(segments.dropFirst())))
        default: return nil
        }
        guard !segments[0].isEmpty else {
            throw ImageOptionError(
                code: "bad-target", message: "An image's URL is /IDENTIFIER/REGION/SIZE/ROTATION/QUALITY.FORMAT.")
        }
        identifier = TranslatedOptions.reference(segments[0])
    }

    /// The path of the original, percent-encoded. `%3A` is decoded for URLs of other hosts.
    var original: String {
        [("%2F", "/"), ("%2f", "/"), ("%3A", ":"), ("%3a", ":")].reduce(identifier) { $0.replacing($1.0, with: $1.1) }
    }

    /// The image target of the original's description.
    var description: String {
        Router.imagePrefix + ImageRules.descriptionName + TranslatedOptions.path(of: original)
    }
}
