import Glibc

extension ChildProcess {
    /// Starts a server on a free port, and waits until its process id's file shows that it listens.
    ///
    /// - Parameter start: starts it on that port.
    static func server(
        _ name: String, announcedBy file: String, start: (_ port: UInt16) throws -> ChildProcess
    ) async throws -> (process: ChildProcess, port: UInt16) {
        // The port is free when it is looked for, and another process may take it before the server does.
        var failure = ""
        for _ in 0..<5 {
            // Left over from an earlier attempt, which was killed and could not remove it.
            unlink(file)
            let (socket, port) = try Socket.listening()
            socket.finish(reset: false)
            let process = try start(port)
            let deadline = ContinuousClock.now + .seconds(patience)
            while true {
                // The clock is read first: when many tests start at once, a short sleep may outlast the deadline.
                let isLate = ContinuousClock.now > deadline
                if process.ending != nil { break }
                if access(file, F_OK) == 0 { return (process, port) }
                if isLate { break }
                try await Task.sleep(for: .milliseconds(5))
            }
            failure = process.errorOutput
        }
        throw TestSetupFailure("\(name) does not start: \(failure)")
    }
}
