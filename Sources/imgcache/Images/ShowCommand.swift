import ArgumentParser
import Glibc
import ImageCache

struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show an image in the terminal.",
        discussion: """
            By the graphics protocol of Kitty or iTerm2, or as sixels, where the terminal says that it knows one of them; else \
            with two pixels a character, in colour unless NO_COLOR is set.
            """
    )

    @Argument(help: ArgumentHelp("A URL (http or https) or an image file.", valueName: "source"))
    var source: String

    @Option(help: ArgumentHelp("The width in characters (default: the terminal's).", valueName: "columns"))
    var width: Int?

    @Option(help: "The protocol: kitty, iterm, sixel or blocks (default: detected).")
    var graphics: TerminalGraphics?

    @OptionGroup(title: "Decoding")
    var decoding: DecodingOptions

    @OptionGroup
    var fetching: FetchingOptions

    func validate() throws {
        guard width ?? 1 > 0 else { throw ValidationError("--width must be an integer greater than 0.") }
    }

    func run() async throws {
        do {
            let screen = TerminalScreen(STDOUT_FILENO)
            let graphics = graphics ?? TerminalGraphics.known(on: STDOUT_FILENO)
            let columns = min(width ?? screen.columns, screen.columns)
            let image = try await image(to: screen.sizing(columns: columns, for: graphics))
            try decoding.check(image.damage, of: source, quiet: fetching.messages.quiet)
            Output.result(try graphics.drawing(of: image))
            Output.exit(.done)
        } catch let error as ImageCodecError {
            let failure = Failure(error, of: source)
            Output.error("\(failure)")
            Output.exit(failure.status)
        } catch {
            Output.error("\(error)")
            Output.exit(ExitStatus(error))
        }
    }

    private func image(to sizing: ImageSizing) async throws -> DecodedImage {
        guard source.isWebURL else {
            let (file, decoder) = (try ImageSource(path: source), decoding.decoder)
            let isolated = IsolatedFiles(decoding.isolation, width: 1)
            guard isolated.isUsed(for: file) else { return try decoder.decode(file, to: sizing) }
            return try isolated.image(of: file, sizing, decoder)
        }
        var file = try fetching.template(mayBeUnstorable: true)
        file.url = source
        var request = ImageRequest(file, sizing)
        request.decoder = decoding.decoder
        request.storing = .originalOnly
        let cache = try fetching.openCache(isolation: decoding.isolation)
        let image = try await cache.image(for: request).image
        await cache.close()
        return image
    }
}

/// The size of a terminal.
struct TerminalScreen: Equatable {
    var columns = 80
    var rows = 24
    /// The size of a character in pixels.
    var cell = (width: 10, height: 20)

    init(_ descriptor: Int32) {
        columns = Output.width(of: descriptor)
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return }
        rows = Int(size.ws_row)
        guard size.ws_xpixel > 0, size.ws_ypixel > 0, size.ws_col > 0 else { return }
        cell = (max(1, Int(size.ws_xpixel / size.ws_col)), max(1, Int(size.ws_ypixel / size.ws_row)))
    }

    static func == (left: Self, right: Self) -> Bool {
        left.columns == right.columns && left.rows == right.rows && left.cell == right.cell
    }

    /// The largest size that fits into the columns, and into all rows except the prompt's.
    func sizing(columns: Int, for graphics: TerminalGraphics) -> ImageSizing {
        let lines = max(1, rows - 1)
        return graphics == .blocks
            ? .fit(columns, lines * 2) : .fit(columns * cell.width, lines * cell.height)
    }
}
