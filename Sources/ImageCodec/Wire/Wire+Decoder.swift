extension DecodingLimits: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&pixels)
        try coder.code(&side)
        try coder.code(&bytes)
        try coder.code(&memory)
        try coder.code(&ancillary)
        try coder.code(&scans)
        try coder.code(&frames)
        try coder.code(&animationPixels)
        try coder.code(&animationSeconds)
        try coder.code(&seconds)
    }
}

/// Without the application's decoders, which stay in its process.
extension ImageDecoder: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&limits)
        try coder.code(&allowTruncated)
        var keepsProfile = color == .keepProfile
        try coder.code(&keepsProfile)
        color = keepsProfile ? .keepProfile : .convertToSRGB
        try coder.code(&keepsMetadata)
        try coder.code(&appliesOrientation)
        try coder.code(&usesLinearLight)
        try coder.code(&frame)
    }
}

extension ImageSizing.Color: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&red)
        try coder.code(&green)
        try coder.code(&blue)
    }
}

extension ImageRegion: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        let number = if case .pixels = self { 0 } else { 1 }
        switch try coder.code(case: number) {
        case 0:
            var part =
                if case .pixels(let x, let y, let width, let height) = self { [x, y, width, height] } else {
                    [0, 0, 0, 0]
                }
            for index in part.indices { try coder.code(&part[index]) }
            self = .pixels(x: part[0], y: part[1], width: part[2], height: part[3])
        case 1:
            var part =
                if case .shares(let x, let y, let width, let height) = self { [x, y, width, height] } else {
                    [0.0, 0, 0, 0]
                }
            for index in part.indices { try coder.code(&part[index]) }
            self = .shares(x: part[0], y: part[1], width: part[2], height: part[3])
        default: throw WireCoder.Malformed()
        }
    }
}

extension ImageSizing: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        try coder.code(&width)
        try coder.code(&height)
        try coder.code(raw: &fit)
        try coder.code(&position)
        try coder.code(&allowsEnlargement)
        try coder.code(&devicePixelRatio)
        try coder.code(&background, from: .white)
    }
}

extension ImageSizing.Position: WireCodable {
    private static let simple: [Self] = [
        .center, .top, .bottom, .left, .right, .topLeft, .topRight, .bottomLeft, .bottomRight, .entropy, .attention,
    ]

    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        var point: (x: Double, y: Double)
        let number: Int
        switch self {
        case .at(let x, let y): (number, point) = (Self.simple.count, (x, y))
        case .focus(let x, let y): (number, point) = (Self.simple.count + 1, (x, y))
        default:
            guard let simple = Self.simple.firstIndex(of: self) else { throw WireCoder.Malformed() }
            (number, point) = (simple, (0, 0))
        }
        let read = try coder.code(case: number)
        if Self.simple.indices.contains(read) {
            self = Self.simple[read]
            return
        }
        try coder.code(&point.x)
        try coder.code(&point.y)
        switch read - Self.simple.count {
        case 0: self = .at(x: point.x, y: point.y)
        case 1: self = .focus(x: point.x, y: point.y)
        default: throw WireCoder.Malformed()
        }
    }
}

extension DecodingScale: WireCodable {
    package mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        var numbers = [0, 0]
        let number: Int
        switch self {
        case .whole: number = 0
        case .eighths(let eighths): (number, numbers[0]) = (1, eighths)
        case .size(let width, let height): (number, numbers) = (2, [width, height])
        }
        let read = try coder.code(case: number)
        try coder.code(&numbers[0])
        try coder.code(&numbers[1])
        switch read {
        case 0: self = .whole
        case 1: self = .eighths(numbers[0])
        case 2: self = .size(width: numbers[0], height: numbers[1])
        default: throw WireCoder.Malformed()
        }
    }
}
