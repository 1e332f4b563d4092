internal import CImageCodec

/// Increasingly detailed previews of a progressive JPEG while its bytes arrive.
///
/// Append the bytes in order, in parts of any size, and request an image when ``append(_:)`` returns true (or less
/// often: each costs about as much as decoding the file once). A JPEG in one scan has no previews. Used by one thread
/// at a time.
///
/// ```swift
/// let preview = ProgressiveJPEGPreview(sizing: .fit(640, 480))
/// for part in parts where try preview.append(part) { show(try preview.image()) }
/// ```
public final class ProgressiveJPEGPreview {
    private let decoder: ImageDecoder
    private let sizing: ImageSizing?
    private let cancellation: ImageCancellation?
    private var handle: OpaquePointer?
    private var started: Started?
    private var received = 0
    private var isPassedOver = false
    private var shown: UInt32 = 0
    private var scans: UInt32 = 0

    /// The state that is known after the header.
    private struct Started {
        var plan: StoredPlan
        var resizing: Resizing
        var conversion: ColorConversion
        var exif: ExifBlock?
        var width: Int
        var height: Int
    }

    /// - Parameters:
    ///   - sizing: The size of the images; nil: the stored size.
    ///   - decoder: The source of limits, colour handling and orientation.
    ///   - cancellation: Stops running work, which then fails with `cancelled`; nil: not cancellable.
    public init(
        sizing: ImageSizing? = nil, decoder: ImageDecoder = ImageDecoder(), cancellation: ImageCancellation? = nil
    ) {
        self.sizing = sizing
        self.decoder = decoder
        self.cancellation = cancellation
    }

    deinit {
        // The handle has the address of the flag.
        withExtendedLifetime(cancellation) { icodec_jpeg_preview_destroy(handle) }
    }

    /// Appends the next bytes of the file.
    ///
    /// - Returns: True if ``image()`` returns a better image than before.
    /// - Throws: `corrupt`, `limitExceeded` and the like; bytes after an error are ignored. Another format, or a JPEG
    ///   in one scan, is not an error.
    public func append(_ bytes: [UInt8]) throws(ImageCodecError) -> Bool {
        guard !isPassedOver, !bytes.isEmpty else { return false }
        received += bytes.count
        do throws(ImageCodecError) {
            guard received <= decoder.limits.bytes else {
                throw ImageCodecError(.limitExceeded, format: .jpeg, "more than \(decoder.limits.bytes) bytes")
            }
            if handle == nil {
                // The first byte of a JPEG is unique to it.
                guard bytes[0] == 0xFF else {
                    isPassedOver = true
                    return false
                }
                handle = try makeHandle()
            }
            if try consume(bytes), started == nil {
                try start()
                if !isPassedOver { _ = try consume([]) }
            }
        } catch {
            isPassedOver = true
            throw error
        }
        return scans > shown && !isPassedOver
    }

    private func makeHandle() throws(ImageCodecError) -> OpaquePointer {
        // Each part has its own time limit, and may be processed on another thread.
        let watch = icodec_watch(deadline: .infinity, stop: cancellation?.cFlag)
        var limits = decoder.limits.lowered(allowTruncated: true, watch)
        var error = icodec_error()
        guard let handle = icodec_jpeg_preview_create(&limits, &error) else {
            throw ImageCodecError(error, format: .jpeg)
        }
        return handle
    }

    /// - Returns: True if the header is known.
    private func consume(_ bytes: [UInt8]) throws(ImageCodecError) -> Bool {
        var error = icodec_error()
        var hasHeader = false
        guard icodec_jpeg_preview_append(handle, bytes, bytes.count, &hasHeader, &scans, &error) else {
            throw ImageCodecError(error, format: .jpeg)
        }
        return hasHeader
    }

    private func start() throws(ImageCodecError) {
        var description = icodec_description()
        icodec_jpeg_preview_describe(handle, &description)
        let header = ImageHeader(description, .jpeg, fileSize: 0)
        guard header.description.interlaced else {
            isPassedOver = true
            return
        }
        let target = try decoder.target(sizing, of: header)
        guard case .eighths(let eighths) = target.scale else { return }
        let conversion = try ColorConversion(header, decoder.color)
        var error = icodec_error()
        var size: (UInt32, UInt32) = (0, 0)
        guard icodec_jpeg_preview_start(handle, Int32(eighths), conversion.keepsCMYK, &size.0, &size.1, &error) else {
            throw ImageCodecError(error, format: .jpeg)
        }
        let resizing = Resizing(
            header, target.scale, target.plan, hasAlpha: false,
            linear: decoder.usesLinearLight && !conversion.keepsCMYK)
        started = Started(
            plan: target.plan, resizing: resizing, conversion: conversion,
            exif: decoder.keepsMetadata ? header.exif : nil,
            width: Int(size.0), height: Int(size.1))
    }

    /// The image from the complete scans; nil before the first one is complete.
    public func image() throws(ImageCodecError) -> DecodedImage? {
        guard let started, !isPassedOver, scans > 0 else { return nil }
        let budget = ImageBudget(limits: decoder.limits, cancellation: cancellation)
        let resizer = try RowResizer(started.resizing)
        var error = icodec_error()
        guard icodec_jpeg_preview_begin(handle, &error) else { throw ImageCodecError(error, format: .jpeg) }
        shown = scans
        let rows = Rows(handle: handle, width: started.width, height: started.height)
        try rows.feed(resizer, budget)
        try started.conversion.apply(to: resizer.pixels, budget)
        return try decoder.finish(
            resizer, started.plan, sizing, mayHaveAlpha: false, profile: started.conversion.keptProfile,
            exif: started.exif, damage: nil, within: budget)
    }

    private struct Rows {
        let handle: OpaquePointer?
        let width: Int
        let height: Int

        /// Passes all rows to a filter.
        func feed(_ resizer: RowResizer, _ budget: ImageBudget) throws(ImageCodecError) {
            let rowsAtATime = resizer.resizing.rowsAtATime
            let rows = try PixelBuffer(byteCount: rowsAtATime * width * 4)
            var seen = 0
            while seen < height {
                let got = try read(into: rows.bytes, count: min(rowsAtATime, height - seen))
                if got == 0 { break }
                try budget.measured { (watch) throws(ImageCodecError) in
                    try resizer.push(rows.bytes, count: got, step: width * 4, &watch)
                }
                seen += got
            }
        }

        private func read(into rows: UnsafeMutablePointer<UInt8>, count: Int) throws(ImageCodecError) -> Int {
            var error = icodec_error()
            var got: UInt32 = 0
            guard icodec_jpeg_preview_rows(handle, rows, width * 4, UInt32(count), &got, &error) else {
                throw ImageCodecError(error, format: .jpeg)
            }
            return Int(got)
        }
    }
}
