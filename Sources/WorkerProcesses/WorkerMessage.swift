/// A message between a program and one of its workers.
package struct WorkerMessage: Sendable {
    package var bytes: [UInt8]
    /// At most three: files and memory that the message is about.
    package var descriptors: [OpenDescriptor]

    package init(_ bytes: [UInt8] = [], descriptors: [OpenDescriptor] = []) {
        self.bytes = bytes
        self.descriptors = descriptors
    }
}
