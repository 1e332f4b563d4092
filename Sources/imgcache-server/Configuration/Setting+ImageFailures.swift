import FoundationEssentials
import ImageProxy

extension Setting {
    /// The settings of what is sent when an image cannot be made.
    static let imageFailures: [Setting] = [
        list(
            "fallback-image", "FILE,…", \.fallbackImages,
            "Images that are sent instead of errors to clients that accept images, with the error's status; 404:FILE for one status."
        ) { member in
            do throws(FallbackSetting.Failure) {
                _ = try FallbackSetting(member).file()
                return nil
            } catch {
                return error.problem
            }
        }.reloadable,
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

/// A member of the setting `fallback-image`.
struct FallbackSetting {
    struct Failure: Error {
        let problem: String
    }

    /// The greatest size of a file in bytes.
    static let mostBytes = 4 << 20

    /// nil: all without a file of their own.
    let status: Int?
    let path: String

    init(_ text: String) throws(Failure) {
        guard let colon = text.firstIndex(of: ":"), let status = Int(text[..<colon]) else {
            (status, path) = (nil, text)
            return
        }
        guard FallbackImages.statuses.contains(status) else {
            let all = FallbackImages.statuses.sorted().map(String.init).joined(separator: ", ")
            throw Failure(problem: "must begin with one of the statuses \(all)")
        }
        self.status = status
        path = String(text[text.index(after: colon)...])
    }

    func file() throws(Failure) -> FallbackImages.File {
        let data: Data
        do { data = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw Failure(problem: "cannot be read")
        }
        guard data.count <= Self.mostBytes else { throw Failure(problem: "has more than 4 MiB") }
        guard let file = FallbackImages.File(Array(data)) else {
            throw Failure(problem: "is no JPEG, PNG, WebP, GIF or AVIF image")
        }
        return file
    }
}

extension ServerConfiguration {
    /// The images in place of errors, from their files.
    func fallbacks() throws(SettingError) -> FallbackImages {
        var images = FallbackImages()
        for member in fallbackImages {
            do throws(FallbackSetting.Failure) {
                let setting = try FallbackSetting(member)
                let file = try setting.file()
                if let status = setting.status { images.byStatus[status] = file } else { images.general = file }
            } catch {
                throw SettingError(setting: "fallback-image", value: member, problem: error.problem)
            }
        }
        return images
    }
}
