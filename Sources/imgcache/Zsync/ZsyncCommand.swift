import ArgumentParser
import Digests
import HTTPSemantics
import ImageCache
import TextIdentity
import Zsync

struct ZsyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zsync", abstract: "Make control files, by which a new version costs what changed.",
        discussion: """
            Writes FILE.zsync for each file, in the format of zsync 0.6. Publish it beside the file: 'imgcache fetch --zsync auto URL', or zsync \
            itself, then fetches only the blocks that its user does not have. Compressed files seldom share blocks with an older version; \
            'gzip --rsyncable' and 'zstd --rsyncable' help.
            """)

    @Argument(help: ArgumentHelp("The files.", valueName: "file"))
    var files: [String]

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Write the control file of the only file here; '-' is standard output.", valueName: "file"))
    var output: String?

    @Option(
        help: ArgumentHelp(
            "The URL of the only file, if it is not published beside its control file under its own name.",
            valueName: "url"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            "The length of a block: a power of two from 256 (default: 2048, for files from 100 MB on 4096).",
            valueName: "bytes"))
    var blockSize: Int?

    @Flag(name: .customLong("force"), help: "Overwrite existing control files.")
    var force = false

    func validate() throws {
        guard files.count == 1 || output == nil && url == nil else {
            throw ValidationError("-o and --url go with one file.")
        }
        if let blockSize, !ZsyncControl.blockSizes.contains(blockSize) || blockSize & (blockSize - 1) != 0 {
            throw ValidationError("--block-size takes a power of two from 256 to 16777216.")
        }
    }

    func run() throws {
        var status = ExitStatus.done
        for path in files {
            do {
                let target = output ?? "\(path).zsync"
                let control = try control(of: path).encoded
                if Output.isStandardOutput(target) {
                    Output.result(control)
                } else {
                    try AtomicFile.write(control, to: target, overwrite: force)
                    Output.line(target)
                }
            } catch {
                Output.error("\(error)")
                if status == .done { status = ExitStatus(error) }
            }
        }
        Output.exit(status)
    }

    private func control(of path: String) throws -> ZsyncControl {
        guard let file = SeedFile(path) else {
            throw Failure(.usage, "\(path): is no file with content that can be read")
        }
        let size = blockSize ?? ZsyncControl.blockSize(for: file.size)
        let count = (file.size + Int64(size) - 1) / Int64(size)
        guard count <= ZsyncControl.mostBlocks else {
            throw Failure(.usage, "\(path): has too many blocks; take a larger --block-size")
        }
        let name = path.splitAtLastSlash.map { String($0.name) } ?? path
        let made = try ZsyncControl.made(
            length: file.size, blockSize: size, filename: name, url: url ?? PercentEncoding.encodedComponent(name)
        ) { file.read(at: $0, into: $1) }
        guard let made else { throw Failure(.store, "\(path): cannot be read, or changes") }
        return made
    }
}
