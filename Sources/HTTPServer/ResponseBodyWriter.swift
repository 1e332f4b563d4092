/// Sends the pieces of a response's content. A call returns when the kernel has accepted the piece, so that a slow
/// client only delays itself.
package protocol ResponseBodyWriter: Sendable {
    /// Writes content that is in memory.
    func write(_ bytes: [UInt8]) async throws

    /// Writes a range of an open file with sendfile(2). The file must remain open until the call returns.
    func write(_ descriptor: Int32, _ range: Range<Int64>) async throws
}
