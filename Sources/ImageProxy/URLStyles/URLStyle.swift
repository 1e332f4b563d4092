import Digests
import HTTPSemantics
import URLSigning

/// The image URLs of another service, which this service reads in its place.
///
/// Each is translated into an image target of this service, `/image/OPTIONS/PATH`. An option without an equivalent is an error that names what to
/// use instead: an image that differs from the expected one would be noticed late.
package struct URLStyle: Sendable {
    package enum Name: String, CaseIterable, Sendable {
        /// `/cdn-cgi/image/OPTIONS/PATH`
        case cloudflare
        /// `/SIGNATURE/OPTION:…/plain/URL@EXTENSION`, or with the URL in Base64
        case imgproxy
        /// `/unsafe/300x200/smart/filters:…/PATH`, or with a signature in place of `unsafe`
        case thumbor
        /// As thumbor's, with some additional options
        case imagor
        /// The IIIF Image API 3.0 (``IIIFURL``)
        case iiif
    }

    /// A key of signatures.
    package struct Key: Sendable, Equatable {
        package var secret: [UInt8]
        /// imgproxy's salt.
        package var salt: [UInt8] = []

        /// Reads the keys of a style, one a line: imgproxy's key and salt in hexadecimal with a space between them, the others' key as text. Empty
        /// lines, and those that begin with `#`, are skipped.
        ///
        /// - Returns: `nil` if a line is not a key, or there is none.
        package static func all(in text: String, for style: Name) -> [Key]? {
            var keys: [Key] = []
            for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
                let words = line.split(separator: " ")
                guard !words.isEmpty else { continue }
                if style == .imgproxy {
                    guard words.count == 2, let secret = [UInt8](hexadecimal: words[0]),
                        let salt = [UInt8](hexadecimal: words[1]), !secret.isEmpty
                    else { return nil }
                    keys.append(Key(secret: secret, salt: salt))
                } else {
                    guard words.count == 1 else { return nil }
                    keys.append(Key(secret: Array(words[0].utf8)))
                }
            }
            return keys.isEmpty ? nil : keys
        }
    }

    package let name: Name
    private let keys: [Key]

    /// - Parameter keys: The keys of valid signatures. Without keys, signatures are not checked.
    package init(_ name: Name, keys: [Key] = []) {
        self.name = name
        self.keys = keys
    }

    /// True if signatures are checked.
    var verifies: Bool { !keys.isEmpty }

    /// An image target of this service in place of another service's URL.
    struct Translation {
        var target: String
        /// The time after which the URL is refused, in seconds since 1970; nil for never.
        var expiry: Int64?
        /// The URL if the image depends on the size of the original. ``target`` is then that of the original's description.
        var iiif: IIIFURL?
    }

    /// The equivalent image target, or nil if the target is not an image of this style.
    ///
    /// - Parameters:
    ///   - now: Seconds since 1970; nil to check neither signature nor expiry.
    func translated(_ target: String, now: Int64?) throws(ImageRequestError) -> Translation? {
        guard !target.hasPrefix(Router.imagePrefix), !target.hasPrefix(ControlFiles.pathPrefix) else { return nil }
        if name == .cloudflare {
            return try Self.reading { () throws(ImageOptionError) in try CloudflareURL.translated(target) }
                .map { Translation(target: $0) }
        }
        if name == .iiif {
            return try Self.reading { () throws(ImageOptionError) in try IIIFURL(target) }
                .map { Translation(target: $0.description, iiif: $0) }
        }
        // The first segment is the signature.
        let parts = target.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if now != nil { try verify(parts[0], of: parts[1]) }
        guard name == .imgproxy else {
            return try Self.reading { () throws(ImageOptionError) in
                Translation(target: try ThumborURL.translated(parts[1], isImagor: name == .imagor))
            }
        }
        let translation = try Self.reading { () throws(ImageOptionError) in try ImgproxyURL.translated(parts[1]) }
        if let now, let expiry = translation.expiry, expiry < now { throw .signature(.expired(at: expiry)) }
        return translation
    }

    private static func reading<Value>(_ read: () throws(ImageOptionError) -> Value) throws(ImageRequestError) -> Value
    {
        do throws(ImageOptionError) { return try read() } catch { throw .invalidOption(error) }
    }

    private func verify(_ signature: Substring, of signed: Substring) throws(ImageRequestError) {
        guard verifies else { return }
        let text = signature.utf8.filter { $0 != UInt8(ascii: "=") }
        guard let given = Base64.decodeURL(text) else { throw .signature(.malformed) }
        for key in keys {
            do throws(DigestUnavailable) {
                let code =
                    name == .imgproxy
                    ? try HMAC.code(of: key.salt + Array("/".utf8) + signed.utf8, key: key.secret)
                    : try HMAC.code(of: signed.utf8, key: key.secret, algorithm: .sha1)
                if ConstantTime.areEqual(code, given) { return }
            } catch {
                throw .signature(.unavailable)
            }
        }
        throw .signature(.wrong)
    }
}

/// Options of this service while they are collected from another service's URL.
struct TranslatedOptions {
    private var members: [(name: String, value: String)] = []

    /// Sets an option, in place of an earlier value.
    mutating func set(_ name: String, _ value: some CustomStringConvertible) {
        members.removeAll { $0.name == name }
        members.append((name, value.description))
    }

    /// Sets the blur.
    ///
    /// - Parameter factor: The blur of this service for 1 of the other one. It is twice the standard deviation.
    mutating func setBlur(_ given: Double, times factor: Int, named name: Substring) throws(ImageOptionError) {
        let most = 250 / factor
        guard (0...Double(most)).contains(given) else {
            throw .unsupported(name, instead: "use a blur from 0 to \(most)")
        }
        let blur = Int((given * Double(factor)).rounded())
        if blur > 0 { set("blur", blur) }
    }

    func value(of name: String) -> String? { members.first { $0.name == name }?.value }

    /// The name of a preset, which comes first.
    var preset: String?

    /// The image target with these options.
    func target(of original: String) -> String {
        var words = members.map { "\($0.name)=\(PercentEncoding.encodedComponent($0.value))" }
        if let preset { words.insert(preset, at: 0) }
        if words.isEmpty { words = ["format=auto"] }
        return Router.imagePrefix + words.joined(separator: ",") + Self.path(of: original)
    }

    /// The original in an image target: a URL, or a path below the origin.
    static func path(of original: String) -> String {
        let text = reference(original)
        return text.hasPrefix("/") ? text : "/" + text
    }

    /// A text in which everything that no URL may contain is percent-encoded.
    static func reference(_ text: some StringProtocol) -> String {
        let bytes = text.utf8.reduce(into: [UInt8]()) { text, byte in
            if OriginalReference.isInReference(byte) {
                text.append(byte)
            } else {
                PercentEncoding.append(byte, to: &text)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Values

    /// A colour of six or three hexadecimal digits, or three numbers.
    static func color(_ arguments: [Substring]) -> String? {
        if arguments.count == 3 {
            let parts = arguments.compactMap { UInt8($0) }
            return parts.count == 3 ? parts.hexadecimal : nil
        }
        guard arguments.count == 1 else { return nil }
        return arguments[0].lowercased()
    }
}

extension ImageOptionError {
    /// An option of another service that this one does not have.
    static func unsupported(_ name: some StringProtocol, instead: String) -> ImageOptionError {
        .option(name, "is not supported; \(instead)")
    }

    /// An option of another service with a value that this one does not have.
    static func invalid(_ name: some StringProtocol) -> ImageOptionError { .option(name, "has an invalid value") }
}
