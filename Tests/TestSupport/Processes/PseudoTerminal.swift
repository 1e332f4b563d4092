import ConcurrencyPrimitives
import Foundation
import Glibc

/// A terminal without a screen: what a process writes to it is collected.
public final class PseudoTerminal: Sendable {
    /// The device that a child opens as its standard error.
    let path: String
    /// Kept open, so that reading continues between two children.
    private let slave: Int32
    private let collected: Locked<[UInt8]>

    public init(columns: UInt16 = 80, rows: UInt16 = 24) throws {
        // Equivalents of posix_openpt, unlockpt and ptsname, which Glibc's module map omits.
        let (setLock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))
        let master = Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var locked: Int32 = 0
        var number: UInt32 = 0
        guard master >= 0, ioctl(master, setLock, &locked) == 0, ioctl(master, getNumber, &number) == 0 else {
            throw SystemCallFailure("open /dev/ptmx")
        }
        path = "/dev/pts/\(number)"
        slave = Glibc.open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw SystemCallFailure("open \(path)") }
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(slave, UInt(TIOCSWINSZ), &size)
        let collected = Locked<[UInt8]>([])
        self.collected = collected
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(master, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { break }
                let bytes = Array(buffer[..<count])
                collected.withLock { $0 += bytes }
            }
            close(master)
        }
    }

    deinit {
        close(slave)
    }

    /// Everything written to it so far, escape sequences included.
    public var text: String { String(printing: collected.withLock { $0 }) }

    /// Everything that processes which have ended wrote to it: another thread reads it, a moment later.
    public func wholeText() async -> String {
        // A terminal keeps the order: what came before this byte has been read when this byte has.
        var mark: UInt8 = 0
        guard write(slave, &mark, 1) == 1, await eventually({ collected.withLock { $0.last == mark } }) else {
            return text
        }
        collected.withLock { _ = $0.popLast() }
        return text
    }
}
