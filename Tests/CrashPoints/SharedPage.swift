import CTracing
import Glibc

/// Memory that a traced child shares with the process that watches it: what it has done so far survives its death, and noting
/// it takes no system call.
struct SharedPage {
    private let base: UnsafeMutableRawPointer
    private static let textOffset = 64
    private static let size = 1 << 20

    init() throws {
        guard let memory = ctracing_shared(Self.size) else { throw Failure("no shared memory") }
        base = memory
    }

    func clear() { memset(base, 0, 4096) }

    /// Steps that have ended.
    var completedSteps: Int {
        get { base.load(as: Int.self) }
        nonmutating set { base.storeBytes(of: newValue, as: Int.self) }
    }

    /// Bytes of the body under way that must not be fetched again after a kill.
    var promisedBytes: Int64 {
        get { base.load(fromByteOffset: 8, as: Int64.self) }
        nonmutating set { base.storeBytes(of: newValue, toByteOffset: 8, as: Int64.self) }
    }

    /// The version of the body under way; its key is of one letter.
    var promisedVersion: UInt64 {
        get { base.load(fromByteOffset: 16, as: UInt64.self) }
        nonmutating set { base.storeBytes(of: newValue, toByteOffset: 16, as: UInt64.self) }
    }

    var promisedKey: String {
        get { String(UnicodeScalar(base.load(fromByteOffset: 24, as: UInt8.self))) }
        nonmutating set { base.storeBytes(of: newValue.utf8.first ?? 0, toByteOffset: 24, as: UInt8.self) }
    }

    /// True if the present body is being committed: it may be an entry already.
    var isCommitting: Bool {
        get { base.load(fromByteOffset: 25, as: Bool.self) }
        nonmutating set { base.storeBytes(of: newValue, toByteOffset: 25, as: Bool.self) }
    }

    /// The result, in words.
    var text: String {
        get { String(cString: (base + Self.textOffset).assumingMemoryBound(to: CChar.self)) }
        nonmutating set {
            let bytes = Array(newValue.utf8.prefix(Self.size - Self.textOffset - 1)) + [0]
            bytes.withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(start: base + Self.textOffset, count: bytes.count).copyMemory(from: bytes)
            }
        }
    }
}

/// Something is not as it must be.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
