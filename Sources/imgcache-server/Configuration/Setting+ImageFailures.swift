import Digests
import ImageProxy

extension Setting {
    /// The settings for responses to images that cannot be rendered.
    static let imageFailures: [Setting] = [
        Setting(
            name: "fallback-image", placeholder: "FILE,…",
            help:
                "Images that are sent instead of errors to clients that accept images, with the error's status; 404:FILE for one status.",
            shape: .list, isReloadable: true,
            read: { text, configuration in
                var images: [FallbackSetting] = []
                for member in SettingText.list(text) {
                    do throws(FallbackSetting.Failure) { images.append(try FallbackSetting(member)) } catch {
                        return "\"\(member)\" \(error.problem)"
                    }
                }
                configuration.fallbackImages = images
                return nil
            }, text: { $0.fallbackImages.map(\.text).joined(separator: ",") },
            copy: { $1.fallbackImages = $0.fallbackImages }),
        time(
            "negative-ttl", \.negativeLifetime, mayBeZero: true,
            "The time for which an original that is missing (404, 410) or no usable image (415, 422) is not asked for again; 0: none."
        ).reloadable,
        Setting(
            name: "svg", placeholder: "refuse|pass",
            help:
                "Originals that are SVGs: refused with 415, or sent as they are to requests without a size, effect or format.",
            isReloadable: true,
            read: { text, configuration in
                guard let svg = SVGHandling(rawValue: text) else { return "must be refuse or pass" }
                configuration.svg = svg
                return nil
            }, text: { $0.svg.rawValue }, copy: { $1.svg = $0.svg }),
    ]
}

/// A member of the setting `fallback-image`, with the image in its file at the time of reading.
struct FallbackSetting: Sendable {
    struct Failure: Error {
        let problem: String
    }

    /// The greatest size of a file in bytes.
    static let mostBytes = 4 << 20

    let text: String
    /// The status, or nil for all statuses without their own file.
    let status: Int?
    let file: FallbackImages.File

    init(_ text: String) throws(Failure) {
        self.text = text
        guard let colon = text.firstIndex(of: ":"), let status = Int(text[..<colon]) else {
            self.status = nil
            file = try Self.file(text)
            return
        }
        guard FallbackImages.statuses.contains(status) else {
            let all = FallbackImages.statuses.sorted().map(String.init).joined(separator: ", ")
            throw Failure(problem: "must begin with one of the statuses \(all)")
        }
        self.status = status
        file = try Self.file(String(text[text.index(after: colon)...]))
    }

    private static func file(_ path: String) throws(Failure) -> FallbackImages.File {
        let bytes: [UInt8]
        do throws(LimitedFile.Failure) {
            bytes = try LimitedFile.bytes(of: path, limit: mostBytes, isRegular: true)
        } catch {
            let problem = if case .tooLarge = error { "has more than 4 MiB" } else { "cannot be read" }
            throw Failure(problem: problem)
        }
        guard let file = FallbackImages.File(bytes) else {
            throw Failure(problem: "is no JPEG, PNG, WebP, GIF or AVIF image")
        }
        return file
    }
}

extension ServerConfiguration {
    /// The images that are sent for errors.
    var fallbacks: FallbackImages {
        var images = FallbackImages()
        for setting in fallbackImages {
            if let status = setting.status {
                images.byStatus[status] = setting.file
            } else {
                images.general = setting.file
            }
        }
        return images
    }
}
