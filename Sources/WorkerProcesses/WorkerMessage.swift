/// A message between a program and one of its workers.
package struct WorkerMessage: Sendable {
    /// The meaning of a message.
    enum Purpose: UInt8 {
        /// A piece of work, or an answer to it.
        case work
        /// A worker needs a file in memory of a size; the program's answer is its number and its descriptor.
        case memory
        /// A worker gives a file back, by its number.
        case freed
    }

    var purpose = Purpose.work
    package var bytes: [UInt8]
    /// At most three: files and memory that the message is about.
    package var descriptors: [OpenDescriptor]
    /// The file in memory that a long message came in.
    var carrier: OpenDescriptor?

    package init(_ bytes: [UInt8] = [], descriptors: [OpenDescriptor] = []) {
        self.bytes = bytes
        self.descriptors = descriptors
    }

    init(purpose: Purpose, _ bytes: [UInt8], descriptors: [OpenDescriptor] = []) {
        self.init(bytes, descriptors: descriptors)
        self.purpose = purpose
    }
}
