import ConcurrencyPrimitives
import Foundation
public import Glibc
import Testing

// Glibc's module map leaves these two GNU extensions out.
@_silgen_name("posix_spawn_file_actions_addclosefrom_np")
private func closeFrom(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ first: Int32) -> Int32

@_silgen_name("posix_spawn_file_actions_addchdir_np")
private func changeDirectory(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ path: UnsafePointer<CChar>
) -> Int32

/// A real process: started with the given environment and files, killed and reaped when released.
///
/// Output goes to files rather than pipes, so that no reader is needed and nothing blocks. It inherits no other
/// descriptor: a child that held one of the test's sockets would keep a connection open that the test has closed.
///
/// A process that is killed while it crashes is an issue: it would look like any other that was killed.
public final class ChildProcess: Sendable {
    public enum Ending: Sendable, Equatable, CustomStringConvertible {
        case exited(Int32)
        case signaled(Int32)

        public var description: String {
            switch self {
            case .exited(let code): "exit \(code)"
            case .signaled(let signal): "signal \(signal)"
            }
        }
    }

    public let pid: pid_t
    private let outputPath: String
    private let errorPath: String
    /// Set under the lock together with the reaping: a signal never goes to a recycled process id.
    private let ended = Locked<Ending?>(nil)
    private let files: TestDirectory
    private let isCrashRecorded = Locked(false)

    /// The words of the Swift runtime with which a crash begins.
    private static let crashMark = "*** Signal "
    /// Settings of the Swift runtime that report a crash within a second instead of a minute.
    private static let backtrace: String = {
        let settings = "enable=yes,symbolicate=fast,threads=crashed,registers=none,images=none"
        // A program with a static runtime does not find the toolchain's reporter of crashes by itself.
        let library = "/lib/swift/linux/libswiftCore.so"
        let file = FileHandle(forReadingAtPath: "/proc/self/maps")
        let maps = String(decoding: (try? file?.readToEnd()) ?? Data(), as: UTF8.self)
        guard let line = maps.split(separator: "\n").first(where: { $0.hasSuffix(library) }),
            let start = line.firstIndex(of: "/")
        else { return settings }
        let toolchain = line[start...].dropLast(library.count)
        return "\(settings),swift-backtrace=\(toolchain)/libexec/swift/linux/swift-backtrace"
    }()

    /// - Parameters:
    ///   - executable: a path, or a name to be found on PATH.
    ///   - environment: the whole environment.
    ///   - input: a file for standard input; nil: empty.
    ///   - terminal: what standard error is connected to; nil: a file.
    public init(
        _ executable: String, _ arguments: [String], environment: [String: String], input: String? = nil,
        workingDirectory: String? = nil, terminal: PseudoTerminal? = nil
    ) throws {
        files = try TestDirectory()
        outputPath = files.path("stdout")
        errorPath = files.path("stderr")
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input ?? "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_addopen(
            &actions, 2, terminal?.path ?? errorPath, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY, 0o600)
        if let workingDirectory { _ = changeDirectory(&actions, workingDirectory) }
        _ = closeFrom(&actions, 3)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT] { sigaddset(&defaults, signal) }
        var unmasked = sigset_t()
        sigemptyset(&unmasked)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setsigmask(&attributes, &unmasked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var words = ([executable] + arguments).map { strdup($0) } + [nil]
        // `swift test` sets it, too.
        let all = environment.merging(["SWIFT_BACKTRACE": Self.backtrace]) { $1 }
        var variables = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var pid: pid_t = 0
        let failure = posix_spawnp(&pid, executable, &actions, &attributes, &words, &variables)
        guard failure == 0 else {
            errno = failure
            throw SystemCallFailure("posix_spawn \(executable)")
        }
        self.pid = pid
    }

    deinit {
        recordCrash()
        ended.withLock { ended in
            guard ended == nil else { return }
            Glibc.kill(pid, SIGKILL)
            var status: Int32 = 0
            waitpid(pid, &status, 0)
        }
    }

    /// Its standard output so far.
    public var output: String { String(printing: outputBytes) }

    /// Its standard error so far.
    public var errorOutput: String { String(printing: Self.content(of: errorPath)) }

    /// Its standard output so far, as bytes.
    public var outputBytes: [UInt8] { Self.content(of: outputPath) }

    private static func content(of path: String) -> [UInt8] {
        [UInt8](FileManager.default.contents(atPath: path) ?? Data())
    }

    /// Sends the signal, unless it has ended.
    public func send(signal: Int32) {
        if signal == SIGKILL { recordCrash() }
        ended.withLock { if $0 == nil { _ = Glibc.kill(pid, signal) } }
    }

    private func recordCrash() {
        let text = errorOutput
        guard let mark = text.range(of: Self.crashMark),
            !isCrashRecorded.withLock({ isRecorded in
                defer { isRecorded = true }
                return isRecorded
            })
        else { return }
        Issue.record("process \(pid) has crashed: \(text[mark.lowerBound...].prefix(4000))")
    }

    /// True if it is crashing, or has.
    public var hasCrashed: Bool { errorOutput.contains(Self.crashMark) }

    /// Makes its crash no issue.
    public func ignoreCrash() { isCrashRecorded.withLock { $0 = true } }

    /// The way in which it ended, or nil while it runs.
    public var ending: Ending? {
        ended.withLock { ended in
            if ended == nil {
                var status: Int32 = 0
                if waitpid(pid, &status, WNOHANG) == pid {
                    ended = status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .signaled(status & 0x7F)
                }
            }
            return ended
        }
    }

    /// Waits for its end. After `seconds`, or when the task is cancelled, it is killed, and the ending is that signal.
    public func end(within seconds: Double = patience) async -> Ending {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            if let ending { return ending }
            if ContinuousClock.now > deadline || Task.isCancelled { send(signal: SIGKILL) }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Waits until its standard error holds the text; false when it ended, `seconds` passed, or the task was cancelled without.
    public func says(_ text: String, within seconds: Double = patience) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            let isOver = ending != nil || ContinuousClock.now > deadline || Task.isCancelled
            if errorOutput.contains(text) { return true }
            if isOver { return false }
            try? await Task.sleep(for: .milliseconds(2))
        }
    }
}
