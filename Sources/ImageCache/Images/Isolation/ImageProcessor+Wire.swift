import ImageCodec

/// An effect of this package, which worker processes can apply.
enum PortableProcessor: Sendable {
    case resize(ImageSizing)
    case crop(x: Int, y: Int, width: Int, height: Int)
    case roundedCorners(Double)
    case circle
    case grayscale
    case blur(Double)
    case trim(Int)
    case watermark(ImageWatermark)

    var processor: ImageProcessor {
        switch self {
        case .resize(let sizing): .resize(sizing)
        case .crop(let x, let y, let width, let height): .crop(x: x, y: y, width: width, height: height)
        case .roundedCorners(let radius): .roundedCorners(radius: radius)
        case .circle: .circle
        case .grayscale: .grayscale
        case .blur(let sigma): .blur(sigma: sigma)
        case .trim(let tolerance): .trim(tolerance: tolerance)
        case .watermark(let mark): .watermark(mark)
        }
    }

    private var number: Int {
        switch self {
        case .resize: 0
        case .crop: 1
        case .roundedCorners: 2
        case .circle: 3
        case .grayscale: 4
        case .blur: 5
        case .trim: 6
        case .watermark: 7
        }
    }
}

extension PortableProcessor: WireCodable {
    mutating func code(by coder: inout WireCoder) throws(WireCoder.Malformed) {
        switch try coder.code(case: number) {
        case 0:
            var sizing = if case .resize(let own) = self { own } else { ImageSizing() }
            try coder.code(&sizing)
            self = .resize(sizing)
        case 1:
            var numbers =
                if case .crop(let x, let y, let width, let height) = self { (x, y, width, height) } else {
                    (0, 0, 0, 0)
                }
            try coder.code(&numbers.0)
            try coder.code(&numbers.1)
            try coder.code(&numbers.2)
            try coder.code(&numbers.3)
            self = .crop(x: numbers.0, y: numbers.1, width: numbers.2, height: numbers.3)
        case 2:
            var radius = if case .roundedCorners(let own) = self { own } else { 0.0 }
            try coder.code(&radius)
            self = .roundedCorners(radius)
        case 3: self = .circle
        case 4: self = .grayscale
        case 5:
            var sigma = if case .blur(let own) = self { own } else { 0.0 }
            try coder.code(&sigma)
            self = .blur(sigma)
        case 6:
            var tolerance = if case .trim(let own) = self { own } else { 0 }
            try coder.code(&tolerance)
            self = .trim(tolerance)
        case 7: self = .watermark(try mark(by: &coder))
        default: throw WireCoder.Malformed()
        }
    }

    /// The pixels of a watermark are copied, because they are small compared to the images.
    private func mark(by coder: inout WireCoder) throws(WireCoder.Malformed) -> ImageWatermark {
        var mark: ImageWatermark
        if case .watermark(let own) = self {
            mark = own
            try own.image.copy(by: &coder)
        } else {
            mark = ImageWatermark(try DecodedImage(from: &coder, nil))
        }
        try coder.code(&mark.position)
        try coder.code(&mark.scale)
        try coder.code(&mark.opacity)
        return mark
    }
}
