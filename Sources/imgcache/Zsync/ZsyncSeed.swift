import ConcurrencyPrimitives
import ImageCache
import Zsync

/// The blocks of a file that other files have, found by a control file of zsync.
final class ZsyncSeed: BodySeed {
    private let control: ZsyncControl
    private let files: [SeedFile]
    private let trace: (@Sendable (String) -> Void)?
    private let found = Locked<ZsyncSearch?>(nil)

    init(_ control: ZsyncControl, in files: [SeedFile], trace: (@Sendable (String) -> Void)?) {
        self.control = control
        self.files = files
        self.trace = trace
    }

    var total: Int64 { control.length }

    /// Searches all files. If the calling task is cancelled, what was found until then counts.
    private var search: ZsyncSearch {
        found.withLock { found in
            if let found { return found }
            var search = ZsyncSearch(control)
            for (index, file) in files.enumerated() {
                guard search.search(index, size: file.size, read: { file.read(at: $0, into: $1) }) else { break }
            }
            let missing = search.missing.reduce(0) { $0 + Int64($1.count) }
            trace?("* \(missing) of \(total) bytes are in none of \(files.count) files\n")
            found = search
            return search
        }
    }

    var missing: [Range<Int64>] { search.missing }

    func read(_ range: Range<Int64>, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        let search = search
        var position = range.lowerBound
        while position < range.upperBound {
            guard let (seed, offset, end) = run(at: position, before: range.upperBound, search) else { return false }
            let part = Int(position - range.lowerBound)..<Int(end - range.lowerBound)
            let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[part])
            guard files[seed].read(at: offset, into: bytes) == part.count else { return false }
            position = end
        }
        return true
    }

    /// The longest part from a position on that one file has without a gap.
    private func run(
        at position: Int64, before limit: Int64, _ search: ZsyncSearch
    ) -> (seed: Int, offset: Int64, end: Int64)? {
        let block = Int64(control.blockSize)
        var index = Int(position / block)
        guard let first = search.place(ofBlock: index) else { return nil }
        let offset = first.offset + position % block
        var end = min(limit, control.range(ofBlock: index).upperBound)
        while end < limit {
            index += 1
            guard let next = search.place(ofBlock: index), next.seed == first.seed,
                next.offset == offset + (end - position)
            else { break }
            end = min(limit, control.range(ofBlock: index).upperBound)
        }
        return (first.seed, offset, end)
    }
}
