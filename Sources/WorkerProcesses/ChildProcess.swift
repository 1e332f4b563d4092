import CLinux
import Glibc

/// A child process of this program, which is killed and waited for through a descriptor.
///
/// An application may ignore SIGCHLD, or wait for all children. The number of an ended child may then belong to another process.
struct ChildProcess: Sendable {
    /// For its figures only.
    let number: pid_t
    private let descriptor: OpenDescriptor

    /// - Parameter number: The number of a child that was just started.
    init(started number: pid_t) throws(WorkerFailure) {
        let opened = clinux_open_process(number)
        guard opened >= 0 else {
            let reason = errno
            if reason != ESRCH {
                kill(number, SIGKILL)
                var status: Int32 = 0
                _ = clinux_wait_for(number, &status)
            }
            throw .unavailable(String(cString: strerror(reason)))
        }
        self.number = number
        descriptor = OpenDescriptor(owning: opened)
    }

    /// Kills the process unless it has ended, and waits for it.
    ///
    /// - Returns: False if the application has waited for it already, or ignores the end of children.
    @discardableResult
    func end() -> Bool {
        _ = clinux_kill_process(descriptor.number)
        return clinux_wait_for_opened(descriptor.number) == 0
    }
}
