import CTracing
import Foundation
import Glibc

/// Runs the scenario again and again, and interrupts it at a different place each time: see ``usage``.
@main enum CrashPoints {
    private static let usage = """
        usage: crash-points MODE [--every N] [--start N] [--only N] [--directory DIR] [--seed N]

          kill       ends the scenario by SIGKILL at each system call
          fail       makes each system call fail, with each error that fits it, and writes come short
          power      takes what was not flushed at each of many moments
          run CALL COMMAND…   runs a command that is killed at one system call; prints how many there were

        What must hold is checked after each. Exit code 1 when something did not. Linux on x86-64.

          --every N   each Nth point only, from --start on (1)
          --only N    this point alone
        """

    static func main() {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if let reason = ctracing_unavailable() {
                say("unavailable: \(String(cString: reason))")
                exit(77)
            }
            switch arguments.first {
            case "kill": exit(try Matrix(Options(arguments.dropFirst())).kills())
            case "fail": exit(try Matrix(Options(arguments.dropFirst())).failures())
            case "power": exit(try PowerCuts(Options(arguments.dropFirst())).run())
            case "run" where arguments.count > 2:
                exit(try CommandRun(at: Int(arguments[1]) ?? 0, Array(arguments[2...])).run())
            default:
                say(usage)
                exit(2)
            }
        } catch {
            say("failed: \(error)")
            exit(1)
        }
    }
}

struct Options {
    var every = 1
    var start = 1
    var only: Int?
    var directory = FileManager.default.temporaryDirectory.path
    var seed: UInt64 = 1

    init(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { throw Failure("\(name) needs a value") }
            let number = Int(value)
            switch (name, number) {
            case ("--every", let number?): every = max(1, number)
            case ("--start", let number?): start = number
            case ("--only", let number?): only = number
            case ("--seed", let number?): seed = UInt64(number)
            case ("--directory", _): directory = value
            default: throw Failure("\(name) \(value) is not understood")
            }
        }
    }

    /// The points of so many that are to be tried.
    func points(of count: Int) -> [Int] {
        if let only { return [only] }
        return count < start ? [] : Array(stride(from: start, through: count, by: every))
    }
}

/// Writes a line to standard output at once.
func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
