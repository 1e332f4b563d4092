/// The terms on which a response may be sent again without asking the handler: to requests that do not differ from its
/// own in method, target, `Host`, conditions, range and the selecting fields, until its head would change.
///
/// Requests with credentials or cache directives always reach the handler, and so does what it has no terms for.
package struct ResponseReuse: Sendable {
    /// The names, in lower case, of request fields that select the response, in addition to preconditions and ranges.
    let selectingNames: [[UInt8]]
    /// The time until the handler would send another head (`Age` and lifetimes are whole seconds), or would have to look
    /// anything up.
    let lifetime: Duration
    /// Called before each use. Returns false, for good, if what the response was made from has changed since. Runs on
    /// the event loop: no waiting, less than a microsecond.
    let permits: @Sendable () -> Bool

    package init(selectingNames: [String], lifetime: Duration, permits: @escaping @Sendable () -> Bool) {
        self.selectingNames = selectingNames.map { Array($0.utf8) }
        self.lifetime = lifetime
        self.permits = permits
    }
}
