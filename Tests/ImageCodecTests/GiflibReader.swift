import Foundation
import TestSupport
import Testing

/// giflib's reader of whole files, which the package does not use: another program's view of a GIF.
struct GiflibReader {
    /// The width of the first image.
    let width: Int
    let height: Int
    /// Red, green and blue of each pixel.
    let colors: [UInt8]

    private typealias Open = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<Int32>) -> UnsafeRawPointer?
    private typealias Slurp = @convention(c) (UnsafeRawPointer) -> Int32
    private typealias Close = @convention(c) (UnsafeRawPointer, UnsafeMutablePointer<Int32>) -> Int32

    init(_ bytes: [UInt8]) throws {
        let library = try #require(dlopen("libgif.so.7", RTLD_NOW))
        let open = unsafeBitCast(try #require(dlsym(library, "DGifOpenFileName")), to: Open.self)
        let slurp = unsafeBitCast(try #require(dlsym(library, "DGifSlurp")), to: Slurp.self)
        let close = unsafeBitCast(try #require(dlsym(library, "DGifCloseFile")), to: Close.self)
        let directory = try TestDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = directory.path("image.gif")
        try Data(bytes).write(to: URL(filePath: path))
        var code: Int32 = 0
        let file = try #require(open(path, &code))
        defer { _ = close(file, &code) }
        try #require(slurp(file) == 1)
        // The places of GifFileType, SavedImage and ColorMapObject (gif_lib.h) on machines of 64 bits.
        let saved = try Self.pointer(file, 72)
        width = Int(saved.load(fromByteOffset: 8, as: Int32.self))
        height = Int(saved.load(fromByteOffset: 12, as: Int32.self))
        let own = saved.load(fromByteOffset: 24, as: UnsafeRawPointer?.self)
        let palette = try Self.pointer(own ?? Self.pointer(file, 24), 16)
        let indices = try Self.pointer(saved, 32)
        var colors: [UInt8] = []
        for pixel in 0..<width * height {
            let entry = Int(indices.load(fromByteOffset: pixel, as: UInt8.self)) * 3
            for channel in 0..<3 { colors.append(palette.load(fromByteOffset: entry + channel, as: UInt8.self)) }
        }
        self.colors = colors
    }

    private static func pointer(_ base: UnsafeRawPointer, _ offset: Int) throws -> UnsafeRawPointer {
        try #require(base.load(fromByteOffset: offset, as: UnsafeRawPointer?.self))
    }
}
