import ArgumentParser
import Glibc
import ImageCache
import Units

/// A protocol for showing pixels in a terminal.
enum TerminalGraphics: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// https://sw.kovidgoyal.net/kitty/graphics-protocol
    case kitty
    /// https://iterm2.com/documentation-images.html
    case iterm
    case sixel
    /// Upper half blocks: two pixels per character.
    case blocks

    /// The protocol supported by the terminal on a descriptor, determined by its environment, otherwise by a query.
    static func known(on descriptor: Int32) -> TerminalGraphics {
        guard isatty(descriptor) == 1 else { return .blocks }
        func environment(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
        if let named = named(
            term: environment("TERM"), program: environment("TERM_PROGRAM"), terminal: environment("LC_TERMINAL"),
            kitty: environment("KITTY_WINDOW_ID"))
        {
            return named
        }
        // In a multiplexer the outer terminal's response would be lost or misinterpreted.
        guard environment("TMUX").isEmpty, !environment("TERM").hasPrefix("screen") else { return .blocks }
        return TerminalQuery.ask(query).map(answered) ?? .blocks
    }

    static func named(term: String, program: String, terminal: String, kitty: String) -> TerminalGraphics? {
        if !kitty.isEmpty || term == "xterm-kitty" || term == "xterm-ghostty" || program == "ghostty" { return .kitty }
        if program == "iTerm.app" || terminal == "iTerm2" || program == "WezTerm" { return .iterm }
        if term.hasPrefix("foot") || term.hasPrefix("mlterm") { return .sixel }
        return term == "dumb" || term.isEmpty || term == "linux" ? .blocks : nil
    }

    /// Kitty's graphics query, followed by DA1, which every terminal answers.
    private static let query = "\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\\u{1B}[c"

    static func answered(_ answer: String) -> TerminalGraphics {
        if answer.contains("_Gi=31;OK") { return .kitty }
        guard let start = answer.range("\u{1B}[?") else { return .blocks }
        let attributes = answer[start...].prefix { $0 != "c" }.split(separator: ";")
        return attributes.dropFirst().contains("4") ? .sixel : .blocks
    }

    /// The bytes that display an image, with a line break.
    func drawing(of image: DecodedImage) throws -> [UInt8] {
        switch self {
        case .kitty: Self.kitty(try ImageEncoder.png(level: 1).encode(image))
        case .iterm: Self.iterm(try ImageEncoder.png(level: 1).encode(image))
        case .sixel: SixelDrawing(image).bytes
        case .blocks: BlockDrawing(image, usesColour: getenv("NO_COLOR").map { $0.pointee == 0 } ?? true).bytes
        }
    }

    private static func kitty(_ png: [UInt8]) -> [UInt8] {
        let text = Base64.encoded(png)
        var drawing: [UInt8] = []
        var position = 0
        repeat {
            let end = min(position + 4096, text.count)
            let keys = position == 0 ? "f=100,a=T," : ""
            drawing += Array("\u{1B}_G\(keys)m=\(end < text.count ? 1 : 0);".utf8)
            drawing += text[position..<end]
            drawing += Array("\u{1B}\\".utf8)
            position = end
        } while position < text.count
        return drawing + [UInt8(ascii: "\n")]
    }

    private static func iterm(_ png: [UInt8]) -> [UInt8] {
        Array("\u{1B}]1337;File=inline=1;size=\(png.count):".utf8) + Base64.encoded(png) + Array("\u{07}\n".utf8)
    }
}

extension String {
    /// The position after the first occurrence of `text`.
    fileprivate func range(_ text: String) -> Index? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}

/// Queries the terminal without line buffering and echo.
enum TerminalQuery {
    /// The response; `nil` if there is none within 300 ms, or no terminal.
    static func ask(_ query: String) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else { return nil }
        var raw = before
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
        guard tcsetattr(terminal, TCSANOW, &raw) == 0 else { return nil }
        defer { tcsetattr(terminal, TCSANOW, &before) }
        Output.write(query, to: terminal)
        var answer: [UInt8] = []
        let clock = ContinuousClock()
        let end = clock.now + .milliseconds(300)
        while answer.count < 1024 {
            let left = (end - clock.now).inSeconds
            guard left > 0 else { return nil }
            var ready = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, Int32(left * 1000) + 1) > 0 else { return nil }
            var byte: UInt8 = 0
            guard read(terminal, &byte, 1) == 1 else { return nil }
            answer.append(byte)
            // The last response is that to DA1: ESC [ ? … c
            if byte == UInt8(ascii: "c"), String(decoding: answer, as: UTF8.self).contains("\u{1B}[?") { break }
        }
        return String(decoding: answer, as: UTF8.self)
    }
}
