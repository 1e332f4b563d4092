import Foundation
import Glibc

/// The scenario's directory as a power failure may leave it, at many points in time.
///
/// The assumptions are those of journalling file systems: names change in order, and a flush of any file writes all earlier names to the
/// disk. Each unflushed page of a file is written or not, independently of the others. A page that is not written has its former content,
/// or is missing, or contains zeros.
final class PowerCuts: Trial {
    /// Different losses at each moment.
    private static let lossesPerMoment = 3

    func run() throws -> Int32 {
        let expected = try Golden.states(page: page, directory: "\(folder)/golden")
        let operations = try record()
        let count = operations.count * Self.lossesPerMoment
        let points = options.points(of: count)
        for point in points {
            let moment = (point - 1) / Self.lossesPerMoment + 1
            var random = Random(seed: options.seed &* 7_919 &+ UInt64(point))
            let directory = "\(folder)/\(point)"
            try Remains(of: operations[..<moment], using: &random).write(to: directory)
            page.clear()
            page.text = ""
            let inspection = Inspection(
                directory: directory, page: page, expected: expected, kind: .powerCut, clockSeed: UInt64(point))
            if let problem = try Child.run(report: page, { try inspection.run() }) {
                fails(point, "power lost after \(operations[moment - 1])", problem)
            }
            try? FileManager.default.removeItem(atPath: directory)
        }
        return report("power", points.count, of: count)
    }

    private func record() throws -> [Operation] {
        let directory = "\(folder)/recorded"
        let recorder = Recorder(directory: directory)
        page.clear()
        let page = page
        let problem = try Child.run(recorder, report: page) {
            try Scenario.run(Session(directory: directory, page: page, clockSeed: 0))
        }
        if let problem { throw Failure("undisturbed: \(problem)") }
        if let problem = recorder.problem { throw Failure(problem) }
        return recorder.operations
    }
}

/// A directory as a loss of power leaves it.
struct Remains {
    private var folders: Set<String> = []
    private var files: [String: Int] = [:]
    private var contents: [Int: [UInt8]] = [:]

    private static let pageSize = 4096

    init(of operations: ArraySlice<Operation>, using random: inout Random) {
        let lastFlush = operations.lastIndex { if case .flush = $0 { true } else { false } } ?? operations.startIndex
        // Names: all of them, those up to the last flush, or anything between.
        let namesEnd =
            switch random.next() % 3 {
            case 0: operations.endIndex
            case 1: lastFlush
            default: Int.random(in: lastFlush...operations.endIndex, using: &random)
            }
        for operation in operations[..<namesEnd] { applyName(operation) }

        var flushed: [Int: Int] = [:]
        for (index, operation) in zip(operations.indices, operations) {
            if case .flush(let file) = operation { flushed[file] = index }
        }
        // The percentage of unflushed pages that were written.
        let share = [0, 10, 50, 90, 100][Int(random.next() % 5)]
        for (index, operation) in zip(operations.indices, operations) {
            let share = operation.file.flatMap { flushed[$0] }.map { index < $0 } == true ? 100 : share
            applyContent(operation, share: share, using: &random)
        }
    }

    private mutating func applyName(_ operation: Operation) {
        switch operation {
        case .makeFolder(let path): folders.insert(path)
        case .link(let path, let file): files[path] = file
        case .unlink(let path): files[path] = nil
        case .rename(let from, let to):
            guard let file = files.removeValue(forKey: from) else { return }
            files[to] = file
        case .write, .truncate, .flush: break
        }
    }

    private mutating func applyContent(_ operation: Operation, share: Int, using random: inout Random) {
        func isThere() -> Bool { Int(random.next() % 100) < share }
        switch operation {
        case .truncate(let file, let size):
            guard isThere() else { return }
            if size < contents[file, default: []].count {
                contents[file, default: []].removeLast(contents[file, default: []].count - size)
            } else {
                grow(file, to: size)
            }
        case .write(let file, let offset, let bytes):
            if isThere() { grow(file, to: offset + bytes.count) }
            var position = 0
            while position < bytes.count {
                let end = min(bytes.count, ((offset + position) / Self.pageSize + 1) * Self.pageSize - offset)
                if isThere() { copy(bytes, position..<end, to: file, at: offset) }
                position = end
            }
        default: break
        }
    }

    private mutating func grow(_ file: Int, to size: Int) {
        let missing = size - contents[file, default: []].count
        if missing > 0 { contents[file, default: []].append(contentsOf: [UInt8](repeating: 0, count: missing)) }
    }

    /// A part of what was written at an offset.
    private mutating func copy(_ bytes: [UInt8], _ part: Range<Int>, to file: Int, at offset: Int) {
        grow(file, to: offset + part.upperBound)
        contents[file, default: []].withUnsafeMutableBytes { content in
            bytes.withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(
                    rebasing: content[(offset + part.lowerBound)..<(offset + part.upperBound)]
                )
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[part]))
            }
        }
    }

    func write(to directory: String) throws {
        try? FileManager.default.removeItem(atPath: directory)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for folder in folders.sorted() where !folder.isEmpty {
            try FileManager.default.createDirectory(
                atPath: "\(directory)/\(folder)", withIntermediateDirectories: true)
        }
        for (path, file) in files {
            try Data(contents[file] ?? []).write(to: URL(filePath: "\(directory)/\(path)"))
        }
    }
}
