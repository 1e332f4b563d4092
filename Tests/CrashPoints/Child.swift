import CTracing
import Glibc

/// A forked process that does one thing, watched or not.
enum Child {
    /// Runs a child process; returns the way in which it failed, in words, or nil.
    static func run(
        _ observer: Observer? = nil, report: SharedPage, seconds: Int32 = 60, _ work: @escaping () throws -> Void
    ) throws -> String? {
        let box = Work {
            do {
                try work()
            } catch {
                report.text = "\(error)"
                _exit(1)
            }
        }
        var ending = ctracing_ending()
        let context = Unmanaged.passUnretained(box).toOpaque()
        let body: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
            guard let context else { return }
            Unmanaged<Work>.fromOpaque(context).takeUnretainedValue().run()
        }
        let error: Int32
        if let observer {
            error = withExtendedLifetime(observer) {
                withUnsafePointer(to: observer.table(seconds: seconds)) {
                    ctracing_fork(body, context, $0, seconds, &ending)
                }
            }
        } else {
            error = ctracing_fork(body, context, nil, seconds, &ending)
        }
        withExtendedLifetime(box) {}
        guard error == 0 else { throw Failure("cannot run a child: \(String(cString: strerror(error)))") }
        if ending.is_late { return "it hung for \(seconds) s" }
        if ending.status & 0x7F != 0 { return "signal \(ending.status & 0x7F)" }
        return ending.status == 0 ? nil : report.text
    }

    private final class Work {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }
}

/// Sees the system calls of a traced process.
class Observer {
    /// Calls that counted so far.
    private(set) var count = 0
    var hasActed = false

    /// Decides on the call; `number` counts from 1.
    func entry(_ call: ctracing_call, _ kind: SystemCall, number: Int, error: inout Int32) -> ctracing_verdict {
        CTRACING_GO
    }

    /// Called after each call, also those that do not count.
    func exit(_ call: ctracing_call) {}

    fileprivate func noticed(_ call: ctracing_call, error: inout Int32) -> ctracing_verdict {
        guard let kind = SystemCall(call) else { return CTRACING_GO }
        count += 1
        return entry(call, kind, number: count, error: &error)
    }

    func table(seconds: Int32) -> ctracing_observer {
        ctracing_observer(
            context: Unmanaged.passUnretained(self).toOpaque(),
            entry: { context, call, error in
                guard let context, let call, let error else { return CTRACING_GO }
                return Unmanaged<Observer>.fromOpaque(context).takeUnretainedValue()
                    .noticed(call.pointee, error: &error.pointee)
            },
            exit: { context, call in
                guard let context, let call else { return }
                Unmanaged<Observer>.fromOpaque(context).takeUnretainedValue().exit(call.pointee)
            }, seconds: seconds)
    }
}
