import Glibc
import Testing

@testable import WorkerProcesses

/// Descriptors that are handed to workers.
struct OpenDescriptorTests {
    @Test(arguments: [O_RDWR, O_RDONLY]) func `a descriptor that is sent permits only reading`(mode: Int32) throws {
        var template = Array("/tmp/imgcache-test-XXXXXX".utf8CString)
        let first = OpenDescriptor(owning: mkstemp(&template))
        #expect(write(first.number, "body", 4) == 4)
        let own = OpenDescriptor(
            owning: template.withUnsafeBufferPointer { open($0.baseAddress.unsafelyUnwrapped, mode) })
        unlink(template)
        // Without a name, as a body that was just stored.
        let sent = try #require(OpenDescriptor(reading: own.number))
        #expect(fcntl(sent.number, F_GETFL) & O_ACCMODE == O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(pread(sent.number, &bytes, 8, 0) == 4 && bytes.starts(with: "body".utf8))
        #expect(write(sent.number, "x", 1) == -1 && errno == EBADF)
    }
}
