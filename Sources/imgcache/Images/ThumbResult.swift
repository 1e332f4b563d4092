import ImageCache
import ImageCodec

/// The result for one source of `imgcache thumb`.
struct ThumbResult: RunResult {
    /// The URL, without userinfo, or the file.
    var source: String
    var output: String?
    /// memory, thumbnail, file, or the source of the original: fresh, revalidated, stale, network, resumed, remote.
    var from: String?
    var format: String?
    var width: Int?
    var height: Int?
    var bytes: Int?
    /// The tolerated defect of the original.
    var damage: String?
    var seconds = 0.0
    var exitStatus = ExitStatus.done
    var error: String?
    var kind: String?

    init(source: String) { self.source = source }

    private enum CodingKeys: String, CodingKey {
        case source, output, from, format, width, height, bytes, damage, seconds, error, kind
        case exitStatus = "exit_code"
    }

    mutating func fill(_ thumbnail: Thumbnail) {
        format = "\(thumbnail.format)".lowercased()
        (width, height) = (thumbnail.width, thumbnail.height)
        bytes = thumbnail.bytes.count
        damage = thumbnail.damage.map { "\($0)" }
        from =
            switch thumbnail.source {
            case .memory: "memory"
            case .thumbnail: "thumbnail"
            case .remote: "remote"
            case .original(let source): FetchResult.word(for: source)
            }
    }

    mutating func fill(_ image: EncodedImage, _ format: EncodingOptions.Format) {
        self.format = format.rawValue
        (width, height) = (image.width, image.height)
        bytes = image.bytes.count
        damage = image.damage.map { "\($0)" }
        from = "file"
    }
}

extension Failure {
    /// The failure for an image of a file or URL. An unreadable file is named by the error itself.
    init(_ error: ImageCodecError, of source: String) {
        self.init(ExitStatus(error.code), error.code == .unreadable ? "\(error)" : "\(source): \(error)")
    }
}

extension ExitStatus {
    /// The exit code for an error of the codec.
    init(_ code: ImageCodecError.Code) {
        switch code {
        // Like any other unreadable file on the command line.
        case .invalidArgument, .unreadable: self = .usage
        case .outOfMemory: self = .store
        default: self = .wrongBytes
        }
    }
}
