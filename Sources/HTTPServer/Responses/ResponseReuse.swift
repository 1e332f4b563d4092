/// The terms on which a response may be replayed without calling the handler. They allow requests with the same method, target, `Host`,
/// preconditions, range and selecting fields, until the head would change.
///
/// Requests with credentials or cache directives always reach the handler, and so do requests for responses without such terms.
package struct ResponseReuse: Sendable {
    /// The names, in lower case, of request fields that select the response, in addition to preconditions and ranges.
    let selectingNames: [[UInt8]]
    /// The time until the handler would send another head (`Age` and lifetimes are whole seconds), or would have to look
    /// anything up.
    let lifetime: Duration
    /// Called before each use. Returns false permanently once the source of the response has changed. Runs on the event loop, so it must
    /// not wait, and takes less than a microsecond.
    let permits: @Sendable () -> Bool

    package init(selectingNames: [String], lifetime: Duration, permits: @escaping @Sendable () -> Bool) {
        self.selectingNames = selectingNames.map { Array($0.utf8) }
        self.lifetime = lifetime
        self.permits = permits
    }
}
