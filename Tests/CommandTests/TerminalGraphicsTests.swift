import ImageCache
import Testing

@testable import imgcache

@Suite struct TerminalGraphicsTests {
    @Test(arguments: [
        ("xterm-kitty", "", "", "", TerminalGraphics.kitty), ("xterm-256color", "", "", "7", .kitty),
        ("xterm-256color", "iTerm.app", "", "", .iterm), ("xterm-256color", "", "iTerm2", "", .iterm),
        ("foot-extra", "", "", "", .sixel), ("dumb", "", "", "", .blocks), ("xterm-256color", "", "", "", nil),
    ])
    func `the environment determines the graphics that a terminal supports`(
        term: String, program: String, terminal: String, kitty: String, expected: TerminalGraphics?
    ) {
        #expect(
            TerminalGraphics.named(term: term, program: program, terminal: terminal, kitty: kitty) == expected)
    }

    @Test(arguments: [
        ("\u{1B}_Gi=31;OK\u{1B}\\\u{1B}[?62;c", TerminalGraphics.kitty), ("\u{1B}[?62;4;22c", .sixel),
        ("\u{1B}[?64;14c", .blocks), ("", .blocks),
    ])
    func `the terminal's reply determines the graphics that it supports`(answer: String, expected: TerminalGraphics) {
        #expect(TerminalGraphics.answered(answer) == expected)
    }

    private func image(_ pixels: [SIMD4<UInt8>], width: Int) throws -> DecodedImage {
        try DecodedImage(width: width, height: pixels.count / width) { memory in
            for (index, pixel) in pixels.enumerated() {
                for part in 0..<4 { memory[index * 4 + part] = pixel[part] }
            }
        }
    }

    @Test func `a block drawing has two pixels per character and leaves out transparent ones`() throws {
        let red = SIMD4<UInt8>(255, 0, 0, 255)
        let none = SIMD4<UInt8>(0, 0, 0, 0)
        let drawing = BlockDrawing(try image([red, none, red, red], width: 2), usesColour: true)
        #expect(
            String(decoding: drawing.bytes, as: UTF8.self)
                == "\u{1B}[38;2;255;0;0;48;2;255;0;0m▀\u{1B}[0;38;2;255;0;0m▄\u{1B}[0m\n")
        let gray = BlockDrawing(try image([none, none], width: 1), usesColour: false)
        #expect(String(decoding: gray.bytes, as: UTF8.self) == " \n")
    }

    @Test func `a sixel drawing has one line per colour and band and encodes repetitions once`() throws {
        let white = SIMD4<UInt8>(255, 255, 255, 255)
        let drawing = SixelDrawing(try image(Array(repeating: white, count: 10 * 6), width: 10))
        let text = String(decoding: drawing.bytes, as: UTF8.self)
        #expect(text.hasPrefix("\u{1B}Pq\"1;1;10;6#0;2;0;0;0"))
        #expect(text.hasSuffix("#215!10~-\u{1B}\\\n"))
    }

    @Test(
        arguments: [
            ("256", 256, 256), ("100x50", 100, 50), ("100x", 100, nil), ("x50", nil, 50), ("0", nil, nil),
            ("x", nil, nil),
            ("1x2x3", nil, nil), ("-5", nil, nil), ("", nil, nil),
        ] as [(String, Int?, Int?)])
    func `a box argument has one or two sides`(text: String, width: Int?, height: Int?) {
        let box = SizingOptions.Box(argument: text)
        #expect(box?.width == width && box?.height == height)
    }
}
