/// A message between a program and one of its workers.
package struct WorkerMessage: Sendable {
    /// The meaning of a message.
    enum Purpose: UInt8 {
        /// A piece of work, or an answer to it.
        case work
        /// A worker requests an in-memory file of a size. The program answers with its number and descriptor.
        case memory
        /// A worker releases a file by its number.
        case freed
    }

    var purpose = Purpose.work
    package var bytes: [UInt8]
    /// At most three: the files and memory that the message refers to.
    package var descriptors: [OpenDescriptor]
    /// The in-memory file that contained a long message.
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
