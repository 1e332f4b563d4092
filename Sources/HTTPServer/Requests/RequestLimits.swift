/// The size limits of the parts of a request.
package struct RequestLimits: Sendable, Hashable {
    /// The length of the request target in bytes. Beyond: 414.
    package var target: Int
    /// The size of the whole head in bytes. Beyond: 431. No more than common origins accept: otherwise a client's
    /// unusual request could provoke an error that others receive.
    package var head: Int
    /// The number of fields in the head. Beyond: 431.
    package var fields: Int
    /// The size of the decoded content in bytes. Beyond: 413.
    package var body: Int

    package init(target: Int = 8 << 10, head: Int = 8 << 10, fields: Int = 100, body: Int = 16 << 20) {
        self.target = target
        self.head = head
        self.fields = fields
        self.body = body
    }
}
