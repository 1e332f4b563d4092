import CTracing
import Foundation
import Glibc

/// Runs a command and kills it at one of its system calls; 0: at none.
struct CommandRun {
    private let point: Int
    private let arguments: [String]

    init(at point: Int, _ arguments: [String]) {
        self.point = point
        self.arguments = arguments
    }

    private final class Killer: Observer {
        let point: Int
        init(at point: Int) { self.point = point }

        override func entry(
            _ call: ctracing_call, _ kind: SystemCall, number: Int, error: inout Int32
        ) -> ctracing_verdict { number == point ? CTRACING_KILL : CTRACING_GO }
    }

    /// Ends as the command did; with 137 when it was killed. The number of calls goes to standard error's last line.
    func run() throws -> Int32 {
        let killer = Killer(at: point)
        var ending = ctracing_ending()
        var words = arguments.map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        let error = withUnsafePointer(to: killer.table(seconds: 120)) { ctracing_exec(&words, $0, &ending) }
        guard error == 0 else { throw Failure("cannot run \(arguments[0])") }
        FileHandle.standardError.write(Data("system calls: \(killer.count)\n".utf8))
        let signal = ending.status & 0x7F
        return signal != 0 ? 128 + signal : ending.status >> 8
    }
}
