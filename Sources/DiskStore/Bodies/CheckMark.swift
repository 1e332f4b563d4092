/// The mark in an entry's row that records that its body was verified against its checksum. It is stored in the column `boot`.
///
/// Bodies are written without fsync, so each body is verified once after each boot. Within a boot only the store changes the file, unless
/// the file has another name (``LinkMode/hardlink``). Such a body counts as verified only while its file's length and times are unchanged.
/// This rule stays in force after the other name is removed, because a process may still have the file open.
enum CheckMark {
    /// The body was never checked.
    static let none: Int64 = 0
    /// A body whose file has, or had, a further name, and is in no state that was checked.
    static let linked: Int64 = 2

    /// The mark of a body that was verified in this boot, for its file's state. `nil` if a later change of the file could not be detected.
    ///
    /// - Parameters:
    ///   - mark: The previous mark of the body.
    ///   - status: The state of the file before it was read.
    ///   - boot: An odd number, or 0 if it is unknown.
    static func checked(after mark: Int64, _ status: FileStatus, boot: Int64, now: FileTime) -> Int64? {
        guard isLinked(mark) else { return boot }
        // A further change within the same tick of the kernel's clock would not change the times.
        guard boot != 0, status.modified.isEarlier(than: now, by: 1) else { return nil }
        return state(of: status, boot: boot)
    }

    /// Returns true if a body with this mark needs no other check in this boot.
    static func isChecked(_ mark: Int64, _ status: FileStatus, boot: Int64) -> Bool {
        guard boot != 0, mark != none else { return false }
        return mark == (isLinked(mark) ? state(of: status, boot: boot) : boot)
    }

    static func isLinked(_ mark: Int64) -> Bool { mark & 3 == linked }

    private static func state(of status: FileStatus, boot: Int64) -> Int64 {
        let values = [
            boot, status.size, status.modified.seconds, status.modified.nanoseconds, status.changed.seconds,
            status.changed.nanoseconds,
        ]
        let hash = values.withUnsafeBytes { Checksum(of: $0).low }
        return Int64(bitPattern: hash) & ~3 | linked
    }
}
