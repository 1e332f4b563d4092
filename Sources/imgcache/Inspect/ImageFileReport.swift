import ArgumentParser
import FoundationEssentials
import Glibc
import ImageCache
import Units

/// The report of `info` on an image file.
enum ImageFileReport {
    /// The path that an argument refers to, or nil for a URL or anything that is not a file.
    static func path(_ argument: String) -> String? {
        guard !argument.contains("://") else { return nil }
        var status = stat()
        return stat(argument, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? argument : nil
    }

    /// - Throws: Exit code 5 for a file that is damaged or not an image.
    static func show(_ path: String, asJSON: Bool) throws {
        let description: ImageDescription
        do throws(ImageCodecError) {
            description = try IsolatedFiles(.ofWorkerFormats, width: 1).description(of: ImageSource(path: path))
        } catch {
            Output.error("\(path): \(error)")
            throw ExitCode(ExitStatus.wrongBytes.rawValue)
        }
        if asJSON { return try Output.json(description) }
        var table = Table()
        table.add("file", path)
        table.add("size", "\(ByteSize(Int64(description.fileSize))) (\(description.fileSize) bytes)")
        table.add("format", description.format + (description.isProgressive ? ", progressive or interlaced" : ""))
        table.add("pixels", "\(description.width) × \(description.height)")
        table.add("orientation", "\(description.orientation)")
        table.add("frames", "\(description.frames)")
        table.add("colour space", "\(description.colorSpace), \(description.bitDepth) bits")
        table.add("alpha", description.hasAlpha ? "yes" : "no")
        table.add("thumbhash", Data(description.thumbHash).base64EncodedString())
        table.add("blurhash", description.blurHash)
        table.add("dominant colour", description.dominantColor?.hexadecimal ?? "none")
        table.print()
    }
}
