import CLinux
import Glibc
import Testing

@testable import WorkerProcesses

struct ChildProcessTests {
    /// Starts a program that waits for its input, which it has at the descriptor of a helper's socket.
    private func start() throws -> (number: pid_t, own: MessageSocket) {
        let (own, other) = try MessageSocket.pair()
        let arguments: [UnsafeMutablePointer<CChar>?] =
            ["sh", "-c", "read line <&\(clinux_helper_socket)"].map { (text: String) in strdup(text) } + [nil]
        defer { for argument in arguments { free(argument) } }
        let number = withExtendedLifetime(other) {
            clinux_spawn_helper("/bin/sh", arguments, [nil], other.descriptor.number)
        }
        try #require(number > 0)
        return (number, own)
    }

    @Test func `a child is killed and waited for`() throws {
        let (number, own) = try start()
        let child = try ChildProcess(started: number)
        #expect(child.end())
        var status: Int32 = 0
        #expect(waitpid(number, &status, WNOHANG) == -1 && errno == ECHILD)
        withExtendedLifetime(own) {}
    }

    @Test func `a child that the application has waited for is left alone`() throws {
        let (number, own) = try start()
        let child = try ChildProcess(started: number)
        kill(number, SIGKILL)
        var status: Int32 = 0
        #expect(waitpid(number, &status, 0) == number)
        #expect(!child.end())
        #expect(throws: WorkerFailure.self) { try ChildProcess(started: number) }
        withExtendedLifetime(own) {}
    }
}
