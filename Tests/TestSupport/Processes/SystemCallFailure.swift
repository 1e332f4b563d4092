import Glibc

/// A system call that failed, and why.
public struct SystemCallFailure: Error, CustomStringConvertible {
    public let call: String
    public let code: Int32

    /// The failure of a call that has just set `errno`.
    public init(_ call: String) {
        code = errno
        self.call = call
    }

    public var description: String { "\(call): \(String(cString: strerror(code)))" }

    /// Makes what needs the kernel's leave, and lets it go again: what stood in the way, or nil. For `.enabled(if:)`.
    static func reason(_ sentence: String, _ make: () throws -> some Any) -> String? {
        do {
            _ = try make()
            return nil
        } catch {
            return "\(sentence): \(error)"
        }
    }

    /// Makes a call again for as long as it says EBUSY: what another process holds while it starts or ends is free in a
    /// moment.
    static func whileBusy(_ call: () -> Int32) -> Bool {
        var result: Int32 = -1
        block {
            result = call()
            return result == 0 || errno != EBUSY
        }
        return result == 0
    }
}
