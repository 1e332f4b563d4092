import Foundation
import TestSupport
import Testing

@testable import ImageCodec

/// One decode for several sizes: each of them is what it would be alone.
@Suite struct SharedDecodeTests {
    private typealias Outcome = Result<DecodedImage, ImageCodecError>

    /// Decodes together what comes from the same decoded rows.
    private func together(_ source: ImageSource, _ sizings: [ImageSizing?], _ decoder: ImageDecoder) throws -> [Outcome]
    {
        let header = try decoder.header(of: source)
        var groups: [DecodingScale: [Int]] = [:]
        var outcomes = [Outcome?](repeating: nil, count: sizings.count)
        for (index, sizing) in sizings.enumerated() {
            do throws(ImageCodecError) {
                groups[try decoder.target(sizing, of: header).scale, default: []].append(index)
            } catch {
                outcomes[index] = .failure(error)
            }
        }
        for members in groups.values {
            let outputs = members.map { DecodingOutput(sizings[$0], ImageBudget(limits: decoder.limits)) }
            decoder.decode(source, outputs, cancellation: nil)
            for (index, output) in zip(members, outputs) {
                outcomes[index] = outcome { () throws(ImageCodecError) in try output.take() }
            }
        }
        return outcomes.compactMap(\.self)
    }

    private func outcome(_ make: () throws(ImageCodecError) -> DecodedImage) -> Outcome {
        do throws(ImageCodecError) { return .success(try make()) } catch { return .failure(error) }
    }

    private func isSame(_ left: Outcome, _ right: Outcome) -> Bool {
        switch (left, right) {
        case (.success(let left), .success(let right)):
            left.width == right.width && left.height == right.height && left.isOpaque == right.isOpaque
                && left.damage == right.damage && left.profile == right.profile && left.exif == right.exif
                && left.withUnsafeBytes { left in right.withUnsafeBytes { right in Data(left) == Data(right) } }
        case (.failure(let left), .failure(let right)): left.code == right.code
        default: false
        }
    }

    private func sizing(_ generator: inout SeededGenerator) -> ImageSizing? {
        if Int.random(in: 0..<8, using: &generator) == 0 { return nil }
        func side() -> Int? { Bool.random(using: &generator) ? Int.random(in: 1...160, using: &generator) : nil }
        var sizing = ImageSizing(
            width: side(), height: side(), fit: ImageSizing.Fit.allCases.randomElement(using: &generator) ?? .inside)
        if sizing.width == nil, sizing.height == nil { sizing.width = Int.random(in: 1...400, using: &generator) }
        sizing.allowsEnlargement = Bool.random(using: &generator)
        sizing.position =
            [.center, .top, .bottomRight, .entropy, .attention].randomElement(using: &generator) ?? .center
        if Int.random(in: 0..<4, using: &generator) == 0 { sizing.background = .black }
        return sizing
    }

    @Test func `random sets of sizes come out bit for bit the same, alone and together`() throws {
        var generator = SeededGenerator(for: "shared decodes")
        let good = Corpus.shared.files("good", ["avif", "gif", "jpeg", "png", "webp"]).filter {
            !$0.path.contains("Landscape")
        }
        let hostile = Corpus.shared.files("hostile", [])
        let files =
            (0..<24).compactMap { _ in good.randomElement(using: &generator) }
            + (0..<12).compactMap { _ in hostile.randomElement(using: &generator) }
        for file in files {
            var decoder = ImageDecoder()
            decoder.limits.pixels = 1 << 20
            decoder.usesLinearLight = Bool.random(using: &generator)
            decoder.allowTruncated = Bool.random(using: &generator)
            decoder.keepsMetadata = Bool.random(using: &generator)
            if Bool.random(using: &generator) { decoder.color = .keepProfile }
            let source = try Corpus.shared.source(file.path)
            let sizings = (0..<Int.random(in: 2...6, using: &generator)).map { _ in sizing(&generator) }
            guard let outcomes = try? together(source, sizings, decoder) else { continue }
            for (sizing, shared) in zip(sizings, outcomes) {
                let alone = outcome { () throws(ImageCodecError) in try decoder.decode(source, to: sizing) }
                #expect(isSame(alone, shared), "\(file.path) \(sizing.map { "\($0)" } ?? "whole"): \(alone) \(shared)")
            }
        }
    }

    @Test func `a damaged image at its stored size is the same alone and with another size`() throws {
        var decoder = ImageDecoder()
        decoder.limits.pixels = 1 << 20
        decoder.allowTruncated = true
        for file in Corpus.shared.files("hostile", []) {
            let source = try Corpus.shared.source(file.path)
            guard let shared = try? together(source, [nil, .fit(8, 8)], decoder).first else { continue }
            let alone = outcome { () throws(ImageCodecError) in try decoder.decode(source) }
            #expect(isSame(alone, shared), "\(file.path): \(alone) \(shared)")
        }
    }

    @Test func `one size that fails, or is cancelled, changes nothing for the others`() throws {
        let source = try Corpus.shared.source("png/codec-corpus__24.png")
        let decoder = ImageDecoder()
        var limits = decoder.limits
        limits.seconds = 0
        let cancelled = ImageCancellation()
        cancelled.cancel()
        let outputs = [
            DecodingOutput(.fit(64, 64), ImageBudget(limits: limits)),
            DecodingOutput(.fit(100, 50), ImageBudget()),
            DecodingOutput(.fit(32, 32), ImageBudget(cancellation: cancelled)),
            DecodingOutput(ImageSizing(width: 0), ImageBudget()),
        ]
        decoder.decode(source, outputs, cancellation: nil)
        let codes = outputs.map { output in
            do throws(ImageCodecError) {
                _ = try output.take()
                return nil as ImageCodecError.Code?
            } catch {
                return error.code
            }
        }
        #expect(codes == [.limitExceeded, nil, .cancelled, .invalidArgument])
    }

    @Test func `sizes from kept rows come out bit for bit as from the file`() throws {
        var generator = SeededGenerator(for: "kept rows")
        let good = Corpus.shared.files("good", ["jpeg", "png"])
        var kept = 0
        for file in (0..<24).compactMap({ _ in good.randomElement(using: &generator) }) {
            var decoder = ImageDecoder()
            if Bool.random(using: &generator) { decoder.color = .keepProfile }
            decoder.limits.pixels = 1 << 21
            let source = try Corpus.shared.source(file.path)
            guard let header = try? decoder.header(of: source) else { continue }
            let sizings = (0..<6).map { _ in sizing(&generator) ?? .fit(90, 90) }
            for sizing in sizings {
                guard let target = try? decoder.target(sizing, of: header) else { continue }
                let collector = RowCollector()
                let first = DecodingOutput(sizing, ImageBudget(limits: decoder.limits))
                decoder.decode(source, [first], cancellation: nil, collecting: collector)
                guard let rows = collector.rows else { continue }
                #expect(rows.scale == target.scale, "\(file.path) \(sizing)")
                #expect(rows.cost == DecodedRows.cost(of: header, at: rows.scale), "\(file.path) \(sizing) \(header)")
                kept += 1
                for other in sizings where (try? decoder.target(other, of: header).scale) == rows.scale {
                    let fromRows = DecodingOutput(other, ImageBudget(limits: decoder.limits))
                    let fromFile = DecodingOutput(other, ImageBudget(limits: decoder.limits))
                    decoder.decode(rows, [fromRows], cancellation: nil)
                    decoder.decode(source, [fromFile], cancellation: nil)
                    let outcomes = [fromRows, fromFile].map { output in
                        outcome { () throws(ImageCodecError) in try output.take() }
                    }
                    #expect(isSame(outcomes[0], outcomes[1]), "\(file.path) \(other)")
                }
            }
        }
        #expect(kept > 0)
    }

    @Test func `rows of damaged, truncated and CMYK files are not kept, and kept rows serve only their scale`() throws {
        for file in Corpus.shared.files("hostile", ["jpeg"]) {
            var decoder = ImageDecoder()
            decoder.limits.pixels = 1 << 20
            decoder.allowTruncated = true
            let collector = RowCollector()
            let output = DecodingOutput(.fit(30, 30), ImageBudget(limits: decoder.limits))
            decoder.decode(try Corpus.shared.source(file.path), [output], cancellation: nil, collecting: collector)
            let image = outcome { () throws(ImageCodecError) in try output.take() }
            if let rows = collector.rows {
                #expect(try image.get().damage == nil, "\(file.path)")
                #expect(rows.cost > 0)
            }
        }
        let image = try DecodedImage(width: 640, height: 480) { memory in
            for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: index) }
        }
        let source = ImageSource(try ImageEncoder.jpeg().encode(image))
        let collector = RowCollector()
        let output = DecodingOutput(.fit(30, 30), .unlimited)
        ImageDecoder().decode(source, [output], cancellation: nil, collecting: collector)
        let rows = try #require(collector.rows)
        let large = DecodingOutput(.fit(600, 600), .unlimited)
        ImageDecoder().decode(rows, [large], cancellation: nil)
        #expect(throws: ImageCodecError.self) { try large.take() }
    }
}
