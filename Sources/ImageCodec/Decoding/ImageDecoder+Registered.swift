internal import CImageCodec

extension ImageDecoder {
    /// The registered decoder of a file, or nil if the package decodes the file or no decoder does.
    func registeredDecoder(of source: ImageSource) throws(ImageCodecError) -> (any ImageDecoding)? {
        guard !registered.isEmpty, source.byteCount > 0 else { return nil }
        let start = try source.prefix(ImageFormat.signatureLength)
        if let format = ImageFormat.detect(start), format.isSupported, !ImageFormat.replaceable.contains(format) {
            return nil
        }
        return registered.first { $0.canDecode(start) }
    }

    /// True if an application's decoder reads the file.
    package func isRegistered(for source: ImageSource) throws(ImageCodecError) -> Bool {
        try registeredDecoder(of: source) != nil
    }

    /// The header of a file that a registered decoder reads, within the limits.
    func header(of source: ImageSource, by decoder: any ImageDecoding) throws(ImageCodecError) -> ImageHeader {
        try limits.check(source, format: decoder.format)
        let header = try decoder.header(of: source)
        guard header.width > 0, header.height > 0 else {
            throw ImageCodecError(
                .corrupt, format: decoder.format, "an image of \(header.width) x \(header.height) pixels")
        }
        try limits.check(ResizePlan.Size(width: header.width, height: header.height), format: decoder.format)
        return ImageHeader(header, decoder, fileSize: source.byteCount)
    }

    func decode(
        _ source: ImageSource, by decoder: any ImageDecoding, _ pass: DecodingPass
    ) throws(ImageCodecError) {
        var header = try pass.accounting { (_) throws(ImageCodecError) in try self.header(of: source, by: decoder) }
        let lanes = lanes(header, pass, hasAlpha: header.mayHaveAlpha, linear: usesLinearLight)
        guard !lanes.isEmpty else { return }
        let image = try pass.accounting { (budget) throws(ImageCodecError) in
            try decoder.decode(source, within: budget)
        }
        guard image.width == header.width, image.height == header.height, header.mayHaveAlpha || image.isOpaque else {
            throw ImageCodecError(.failed, format: decoder.format, "the decoder's pixels contradict its header")
        }
        if let damage = image.damage, !allowTruncated { throw damage }
        header.profile = image.profile
        RowFeed(lanes: lanes, pass: pass).run(image.pixels.bytes, header.size)
        let conversion = try pass.conversion(of: header, color)
        finish(lanes, header, conversion, mayHaveAlpha: header.mayHaveAlpha, damage: image.damage)
    }
}

extension DecodingPass {
    /// Runs an application's code like ``shared(_:)``, with the remaining budget of the outputs.
    fileprivate func accounting<Result>(
        _ work: (ImageBudget) throws(ImageCodecError) -> Result
    ) throws(ImageCodecError) -> Result {
        try shared { (watch) throws(ImageCodecError) in
            var limits = open.first?.budget.limits ?? DecodingLimits()
            limits.seconds = watch.deadline - icodec_cpu_seconds()
            let budget = ImageBudget(limits: limits, cancellation: cancellation)
            let result = try budget.accounting { () throws(ImageCodecError) in try work(budget) }
            try watch.check()
            return result
        }
    }
}

extension ImageHeader {
    init(_ header: DecodingHeader, _ decoder: any ImageDecoding, fileSize: Int) {
        var description = icodec_description()
        description.width = UInt32(clamping: header.width)
        description.height = UInt32(clamping: header.height)
        description.has_alpha = header.mayHaveAlpha
        description.says_srgb = true
        self.init(description, decoder.format, fileSize: fileSize)
        registered = Registered(
            identity: decoder.identity, memory: DecodingLimits.bounded(memory: header.memory ?? fileSize))
    }
}
