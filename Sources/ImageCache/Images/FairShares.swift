/// The work that each client has been given, so that the one that has had least comes next.
///
/// Start-time fair queueing, as in ``FairLine``, over clients whose works are not lined up in advance.
struct FairShares {
    private var now = 0.0
    /// Of clients that are ahead of `now`.
    private var given: [String?: Double] = [:]

    /// How far a client's share reaches; one that has not been there lately begins where the others are.
    func standing(of client: String?) -> Double { max(now, given[client] ?? now) }

    /// Notes that a client's work begins.
    mutating func charge(_ client: String?, _ cost: Int) {
        now = standing(of: client)
        given[client] = now + Double(cost)
        if given.count > 256 { given = given.filter { $0.value > now } }
    }
}
