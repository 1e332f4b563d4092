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
    case region(ImageRegion)
    case orient(ImageOrientation)
    case adjust(brightness: Double, contrast: Double, saturation: Double)
    case sharpen(Double)
    case pad(Int, ImageSizing.Color?)
    case background(ImageSizing.Color)

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
        case .region(let region): .region(region)
        case .orient(let orientation): .orient(orientation)
        case .adjust(let brightness, let contrast, let saturation):
            .adjust(brightness: brightness, contrast: contrast, saturation: saturation)
        case .sharpen(let amount): .sharpen(amount: amount)
        case .pad(let padding, let color): .pad(by: padding, color: color)
        case .background(let color): .background(color)
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
        case .region: 8
        case .orient: 9
        case .adjust: 10
        case .sharpen: 11
        case .pad: 12
        case .background: 13
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
        case 8:
            var region =
                if case .region(let own) = self { own } else { ImageRegion.shares(x: 0, y: 0, width: 1, height: 1) }
            try coder.code(&region)
            self = .region(region)
        case 9:
            var number = if case .orient(let own) = self { own.rawValue } else { 0 }
            try coder.code(&number)
            guard let orientation = ImageOrientation(rawValue: number) else { throw WireCoder.Malformed() }
            self = .orient(orientation)
        case 10:
            var factors =
                if case .adjust(let brightness, let contrast, let saturation) = self {
                    (brightness, contrast, saturation)
                } else { (1.0, 1.0, 1.0) }
            try coder.code(&factors.0)
            try coder.code(&factors.1)
            try coder.code(&factors.2)
            self = .adjust(brightness: factors.0, contrast: factors.1, saturation: factors.2)
        case 11:
            var amount = if case .sharpen(let own) = self { own } else { 0.0 }
            try coder.code(&amount)
            self = .sharpen(amount)
        case 12:
            var (padding, color): (Int, ImageSizing.Color?) =
                if case .pad(let own, let color) = self { (own, color) } else { (0, nil) }
            try coder.code(&padding)
            try coder.code(&color, from: .white)
            self = .pad(padding, color)
        case 13:
            var color = if case .background(let own) = self { own } else { ImageSizing.Color.white }
            try coder.code(&color)
            self = .background(color)
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
