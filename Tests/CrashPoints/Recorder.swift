import CTracing
import Glibc

/// One change of the scenario's directory. Paths are relative to it; a file is known by a number, whatever its names.
enum Operation: CustomStringConvertible {
    case makeFolder(String)
    case link(String, file: Int)
    case unlink(String)
    case rename(String, to: String)
    case write(file: Int, offset: Int, [UInt8])
    case truncate(file: Int, size: Int)
    /// Everything that was written to the file is on the disk.
    case flush(file: Int)

    /// The file whose content the event concerns.
    var file: Int? {
        switch self {
        case .write(let file, _, _), .truncate(let file, _), .flush(let file): file
        default: nil
        }
    }

    var description: String {
        switch self {
        case .makeFolder(let path): "mkdir \(path)"
        case .link(let path, _): "making \(path)"
        case .unlink(let path): "unlink \(path)"
        case .rename(let from, let to): "rename \(from) to \(to)"
        case .write(let file, let offset, let bytes): "writing \(bytes.count) bytes at \(offset) of file \(file)"
        case .truncate(let file, let size): "truncating file \(file) to \(size)"
        case .flush(let file): "flushing file \(file)"
        }
    }
}

/// Notes all that a traced process changes below a directory.
///
/// The index's shared memory is mapped, so its writes are invisible; SQLite recreates it after a crash.
final class Recorder: Observer {
    private(set) var operations: [Operation] = []
    /// The event that could not be followed.
    private(set) var problem: String?
    private let root: String
    private var names: [String: Int] = [:]
    private var descriptors: [Int: Int] = [:]
    private var lastFile = 0

    init(directory: String) { root = directory }

    override func exit(_ call: ctracing_call) {
        guard call.result >= 0 else { return }
        let words = call.arguments
        switch call.number {
        case 2: opened(text(call, words.0), flags: Int32(truncatingIfNeeded: words.1), as: Int(call.result))
        case 257: opened(text(call, words.1), flags: Int32(truncatingIfNeeded: words.2), as: Int(call.result))
        case 3: descriptors[Int(words.0)] = nil
        case 1: if descriptors[Int(words.0)] != nil { problem = "a write at the descriptor's offset" }
        case 18: wrote(call)
        case 77:
            if let file = descriptors[Int(words.0)] { operations.append(.truncate(file: file, size: Int(words.1))) }
        case 74, 75: if let file = descriptors[Int(words.0)] { operations.append(.flush(file: file)) }
        case 82: renamed(text(call, words.0), text(call, words.1))
        case 264, 316: renamed(text(call, words.1), text(call, words.3))
        case 87: unlinked(text(call, words.0))
        case 263: unlinked(text(call, words.1))
        case 83: if let path = inside(text(call, words.0)) { operations.append(.makeFolder(path)) }
        case 258: if let path = inside(text(call, words.1)) { operations.append(.makeFolder(path)) }
        case 86: linked(text(call, words.0), 0, text(call, words.1))
        case 265: linked(text(call, words.1), Int(words.0), text(call, words.3))
        case 76, 285, 40, 326: problem = "system call \(call.number)"
        default: break
        }
    }

    private func opened(_ path: String, flags: Int32, as descriptor: Int) {
        let unnamed: Int32 = 0o20_000_000
        descriptors[descriptor] = nil
        guard let path = inside(path), !path.hasSuffix("-shm") else { return }
        if flags & unnamed != 0 {
            lastFile += 1
            descriptors[descriptor] = lastFile
        } else if let file = names[path] {
            descriptors[descriptor] = file
            if flags & O_TRUNC != 0 { operations.append(.truncate(file: file, size: 0)) }
        } else if flags & O_CREAT != 0 {
            lastFile += 1
            descriptors[descriptor] = lastFile
            names[path] = lastFile
            operations.append(.link(path, file: lastFile))
        }
    }

    private func wrote(_ call: ctracing_call) {
        guard let file = descriptors[Int(call.arguments.0)] else { return }
        var bytes = [UInt8](repeating: 0, count: Int(call.result))
        guard ctracing_read(call.thread, call.arguments.1, &bytes, bytes.count) == bytes.count else {
            problem = "a write whose bytes cannot be read"
            return
        }
        operations.append(.write(file: file, offset: Int(call.arguments.3), bytes))
    }

    private func renamed(_ from: String, _ to: String) {
        guard let from = inside(from), let to = inside(to) else { return }
        names[to] = names.removeValue(forKey: from)
        operations.append(.rename(from, to: to))
    }

    private func unlinked(_ path: String) {
        guard let path = inside(path) else { return }
        names[path] = nil
        operations.append(.unlink(path))
    }

    private func linked(_ from: String, _ descriptor: Int, _ to: String) {
        guard let to = inside(to) else { return }
        let file = from.isEmpty ? descriptors[descriptor] : inside(from).flatMap { names[$0] }
        guard let file else {
            problem = "a link from \(from)"
            return
        }
        names[to] = file
        operations.append(.link(to, file: file))
    }

    private func inside(_ path: String) -> String? {
        if path == root { return "" }
        return path.hasPrefix("\(root)/") ? String(path.dropFirst(root.utf8.count + 1)) : nil
    }

    private func text(_ call: ctracing_call, _ address: UInt64) -> String {
        var bytes = [UInt8](repeating: 0, count: 1024)
        // Up to the end of the page first: what follows may not be mapped.
        let first = min(bytes.count, 4096 - Int(address % 4096))
        var count = ctracing_read(call.thread, address, &bytes, first)
        if !bytes[..<count].contains(0) { count = ctracing_read(call.thread, address, &bytes, bytes.count) }
        return String(decoding: bytes[..<count].prefix { $0 != 0 }, as: UTF8.self)
    }
}
