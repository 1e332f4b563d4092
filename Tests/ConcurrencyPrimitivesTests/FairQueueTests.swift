import ConcurrencyPrimitives
import Testing

struct FairQueueTests {
    /// The order in which requests are served that all wait already.
    private func served(_ clients: [String?]) -> [Int] {
        var order = FairQueue<String?>()
        let tags = clients.map { order.enter($0) }
        return clients.indices.sorted { (tags[$0], $0) < (tags[$1], $1) }
    }

    @Test func `clients take turns, and the requests of one keep their order`() {
        #expect(served(["a", "a", "a", "b", "b", "c"]) == [0, 3, 5, 1, 4, 2])
        #expect(served([nil, nil, nil]) == [0, 1, 2])
    }

    @Test func `a client that comes late does not make up for the time before`() {
        var order = FairQueue<String>()
        for _ in 0..<100 { order.begin(order.enter("a")) }
        let (late, next) = (order.enter("b"), order.enter("a"))
        #expect(late < next)
        #expect(order.enter("b") <= next)
    }

    @Test func `all clients start equal again when the queue is empty`() {
        var order = FairQueue<String>()
        for number in 0..<1000 { order.begin(order.enter("\(number % 10)")) }
        order.reset()
        let (one, other) = (order.enter("1"), order.enter("new"))
        #expect(one == other)
    }

    @Test func `a client with costly work gets fewer turns`() {
        var order = FairQueue<String>()
        var begun = ""
        for _ in 0..<8 {
            let next = order.start(of: "a") <= order.start(of: "b") ? "a" : "b"
            begun += next
            order.begin(order.enter(next, cost: next == "a" ? 3 : 1))
        }
        #expect(begun == "abbbabbb")
    }

    @Test func `work that is withdrawn is not charged`() {
        var order = FairQueue<String>()
        #expect(order.enter("a", cost: 100) == 0)
        #expect(order.enter("a", cost: 100) == 100)
        order.withdraw("a", cost: 100)
        #expect(order.enter("a", cost: 100) == 100)
        order.withdraw("nobody", cost: 100)
        #expect(order.start(of: "nobody") == 0)
    }
}
