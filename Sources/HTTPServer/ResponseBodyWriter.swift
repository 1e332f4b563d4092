/// Sends the pieces of a response's content. A call returns when the kernel has taken the piece, so that a slow client holds up
/// nobody but itself.
package protocol ResponseBodyWriter: Sendable {
    /// Writes content that is in memory.
    func write(_ bytes: [UInt8]) async throws

    /// Writes these bytes of an open file, which stays open until the call returns, with sendfile(2).
    func write(_ descriptor: Int32, _ range: Range<Int64>) async throws
}
