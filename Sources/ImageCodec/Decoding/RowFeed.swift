internal import CImageCodec
internal import Glibc

/// The filter that produces one output from the decoder's rows.
struct DecodingLane {
    let output: DecodingOutput
    let target: DecodingTarget
    let resizer: RowResizer
}

/// Resizes the rows of one decode to each output's size.
struct RowFeed {
    let lanes: [DecodingLane]
    let pass: DecodingPass

    /// Processes a reader's rows as they arrive. Missing rows of a truncated file count as transparent.
    func run(_ reader: some RowReading) throws(ImageCodecError) {
        guard let first = lanes.first else { return }
        if lanes.count == 1, first.resizer.resizing.isIdentity {
            let pixels = first.resizer.pixels.bytes
            let got = try pass.shared { (watch) throws(ImageCodecError) in
                try reader.read(into: pixels, count: reader.height, &watch)
            }
            // The decoder may have written a part of the row in which the file was damaged.
            memset(pixels + got * reader.width * 4, 0, (reader.height - got) * reader.width * 4)
            return
        }
        let stride = reader.width * 4
        let rowsAtATime = first.resizer.resizing.rowsAtATime
        let rows = try PixelBuffer(byteCount: rowsAtATime * stride)
        var seen = 0
        while seen < reader.height {
            let count = min(rowsAtATime, reader.height - seen)
            let got = try pass.shared { (watch) throws(ImageCodecError) in
                try reader.read(into: rows.bytes, count: count, &watch)
            }
            if got == 0 { break }
            pass.collector?.add(rows.bytes, pixels: got * reader.width, of: reader.width * reader.height)
            push(rows.bytes, count: got, step: stride)
            seen += got
        }
        guard seen < reader.height else { return }
        memset(rows.bytes, 0, stride)
        push(rows.bytes, count: reader.height - seen, step: 0)
    }

    /// Processes complete pixels.
    func run(_ pixels: UnsafePointer<UInt8>, _ size: ResizePlan.Size) {
        push(pixels, count: size.height, step: size.width * 4)
    }

    private func push(_ rows: UnsafePointer<UInt8>, count: Int, step: Int) {
        for lane in lanes {
            lane.output.attempt { () throws(ImageCodecError) in
                try lane.output.budget.measured { (watch) throws(ImageCodecError) in
                    try lane.resizer.push(rows, count: count, step: step, &watch)
                }
            }
        }
    }
}

extension ImageDecoder {
    /// The filters for a pass's outputs. An impossible output fails here, before anything is decoded for it.
    func lanes(
        _ header: ImageHeader, _ pass: DecodingPass, hasAlpha: Bool, linear: Bool
    ) -> [DecodingLane] {
        var lanes: [DecodingLane] = []
        for output in pass.open {
            output.attempt { () throws(ImageCodecError) in
                let target = try target(output.sizing, of: header)
                if let first = lanes.first, first.target.scale != target.scale {
                    throw ImageCodecError(.failed, format: header.format, "sizes of different decodes")
                }
                let resizer = try output.budget.measured { (_) throws(ImageCodecError) in
                    try RowResizer(
                        Resizing(header, target.scale, target.plan, hasAlpha: hasAlpha, linear: linear))
                }
                lanes.append(DecodingLane(output: output, target: target, resizer: resizer))
            }
        }
        return lanes
    }

    /// The last steps for each output: colours, rotation, cropping, canvas.
    func finish(
        _ lanes: [DecodingLane], _ header: ImageHeader, _ conversion: ColorConversion, mayHaveAlpha: Bool,
        damage: ImageCodecError?
    ) {
        for lane in lanes {
            lane.output.finish { () throws(ImageCodecError) in
                let budget = lane.output.budget
                try conversion.apply(to: lane.resizer.pixels, budget)
                return try finish(
                    lane.resizer, lane.target.plan, lane.target.sizing, mayHaveAlpha: mayHaveAlpha,
                    profile: conversion.keptProfile, exif: keepsMetadata ? header.exif : nil, damage: damage,
                    within: budget)
            }
        }
    }
}
