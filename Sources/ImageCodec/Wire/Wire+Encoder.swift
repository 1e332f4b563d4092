extension ImageEncoder {
    /// True for the package's encoders. An application's encoder stays in its process.
    package var canBeSent: Bool { if case .custom = options { false } else { true } }
}

extension ImageEncoder: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        let number =
            switch options {
            case .jpeg: 0
            case .png: 1
            case .webp: 2
            case .avif: 3
            case .gif: 4
            case .custom: 5
            }
        switch try coder.code(case: number) {
        case 0:
            var jpeg = if case .jpeg(let own) = options { own } else { JPEGOptions() }
            try jpeg.code(by: &coder)
            options = .jpeg(jpeg)
        case 1:
            var png = if case .png(let own) = options { own } else { PNGOptions() }
            try png.code(by: &coder)
            options = .png(png)
        case 2:
            var webP = if case .webp(let own) = options { own } else { WebPOptions() }
            try webP.code(by: &coder)
            options = .webp(webP)
        case 3:
            var avif = if case .avif(let own) = options { own } else { AVIFOptions() }
            try avif.code(by: &coder)
            options = .avif(avif)
        case 4:
            var gif = if case .gif(let own) = options { own } else { GIFOptions() }
            try gif.code(by: &coder)
            options = .gif(gif)
        default: throw WireCoder.Malformed()
        }
    }
}

extension ImageEncoder.JPEGOptions: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&quality)
        try coder.code(&isProgressive)
        switch try coder.code(case: subsampling == .yes420 ? 0 : subsampling == .yes422 ? 1 : 2) {
        case 0: subsampling = .yes420
        case 1: subsampling = .yes422
        case 2: subsampling = .none444
        default: throw WireCoder.Malformed()
        }
        try coder.code(&background)
        try coder.code(&maxBytes)
    }
}

extension ImageEncoder.PNGOptions: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&level)
        try coder.code(&usesPalette)
    }
}

extension ImageEncoder.WebPOptions: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&quality)
        try coder.code(&isLossless)
        try coder.code(&effort)
        try coder.code(&maxBytes)
    }
}

extension ImageEncoder.AVIFOptions: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&quality)
        try coder.code(&speed)
        try coder.code(&maxBytes)
    }
}

extension ImageEncoder.GIFOptions: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&colors)
        try coder.code(&isDithered)
    }
}
