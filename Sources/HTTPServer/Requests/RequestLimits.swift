/// The sizes that the parts of a request may have.
package struct RequestLimits: Sendable, Hashable {
    /// Bytes of the request target. More: 414.
    package var target: Int
    /// Bytes of the whole head. More: 431. No more than common origins take: what they refuse of one client's odd request
    /// would else be passed on to them.
    package var head: Int
    /// Fields of the head. More: 431.
    package var fields: Int
    /// Bytes of the content, decoded. More: 413.
    package var body: Int

    package init(target: Int = 8 << 10, head: Int = 8 << 10, fields: Int = 100, body: Int = 16 << 20) {
        self.target = target
        self.head = head
        self.fields = fields
        self.body = body
    }
}
