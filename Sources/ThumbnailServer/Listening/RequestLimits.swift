/// How large the parts of a request may be.
struct RequestLimits: Sendable, Hashable {
    /// Bytes of the request target. More: 414.
    var target = 8 << 10
    /// Bytes of the whole head. More: 431. No more than common origins take: what they refuse of one client's odd request
    /// would else be passed on to them.
    var head = 8 << 10
    /// Fields of the head. More: 431.
    var fields = 100
    /// Bytes of the content, decoded. More: 413.
    var body = 16 << 20
}
