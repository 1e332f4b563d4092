import Testing

@testable import WorkerProcesses

/// Messages between a program and its workers.
struct MessageSocketTests {
    @Test(arguments: [0, 1, 48 << 10, 48 << 10 + 1, 1 << 20])
    func `messages arrive complete, whatever their length`(count: Int) throws {
        let (one, other) = try MessageSocket.pair()
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
        #expect(one.send(WorkerMessage(bytes)))
        #expect(try other.receive()?.bytes == bytes)
    }

    @Test func `a message above the length limit is rejected`() throws {
        let (one, other) = try MessageSocket.pair()
        let long = WorkerMessage([UInt8](repeating: 1, count: 100 << 10))
        #expect(one.send(long) && one.send(long))
        #expect(try other.receive(most: 100 << 10 - 1) == nil)
        #expect(try other.receive(most: 100 << 10)?.bytes.count == 100 << 10)
    }

    @Test func `a peer that does not read is not waited for`() throws {
        let (one, other) = try MessageSocket.pair()
        let message = WorkerMessage([UInt8](repeating: 1, count: 10_000))
        // The system holds some for it.
        let parcel = try MessageSocket.Parcel(message)
        let sent = (0..<10_000).prefix { _ in one.send(parcel, waits: false) }.count
        #expect((1..<10_000).contains(sent))
        #expect(try other.receive()?.bytes == message.bytes)
    }
}
