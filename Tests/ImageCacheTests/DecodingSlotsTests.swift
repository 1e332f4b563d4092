import ConcurrencyPrimitives
import HTTPCaching
import TestSupport
import Testing
import Transfer

@testable import ImageCache

@Suite(.timeLimit) struct DecodingSlotsTests {
    private let executor = BlockingExecutor(width: 4)

    private func original(_ name: String) -> ResourceKey { ResourceKey(url: name, in: .shared) }

    /// The order in which tickets get their turns, requested in the order given while another one runs.
    private func order(
        _ tickets: [(name: String, ticket: DecodingSlots.Ticket, memory: Int)], memoryLimit: Int = 100
    ) async -> [String] {
        let slots = DecodingSlots(width: 1, memoryLimit: memoryLimit)
        let (isHeld, order) = (Locked(true), Locked<[String]>([]))
        let held = DecodingSlots.Ticket(priority: .normal, owner: nil, cost: 1)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                _ = try? await slots.run(held, memory: { 1 }, on: executor) {
                    block { !isHeld.withLock { $0 } }
                }
            }
            await eventually { slots.waiting + slots.running >= 1 }
            for (index, one) in tickets.enumerated() {
                group.addTask {
                    _ = try? await slots.run(one.ticket, memory: { one.memory }, on: executor) {
                        order.withLock { $0.append(one.name) }
                    }
                }
                await eventually { slots.waiting > index }
            }
            isHeld.withLock { $0 = false }
        }
        return order.withLock { $0 }
    }

    private func ticket(_ owner: String, cost: Int = 10, _ priority: TransferPriority = .normal) -> DecodingSlots.Ticket
    {
        DecodingSlots.Ticket(priority: priority, owner: original(owner), cost: cost)
    }

    @Test func `an original with many sizes does not hold up the others`() async {
        var tickets = (1...6).map { ("a\($0)", ticket("a"), 1) }
        tickets += [("b1", ticket("b"), 1), ("c1", ticket("c"), 1), ("b2", ticket("b"), 1)]
        let order = await order(tickets)
        // One of each, before the second of any.
        #expect(Set(order.prefix(3)) == ["a1", "b1", "c1"], "\(order)")
        #expect(order.firstIndex(of: "b2").map { $0 < 6 } == true, "\(order)")
        #expect(order.filter { $0.hasPrefix("a") } == (1...6).map { "a\($0)" })
    }

    @Test func `a client with many originals does not hold up the others`() async {
        func ticket(_ client: String, _ original: String) -> DecodingSlots.Ticket {
            var ticket = self.ticket(original)
            ticket.client = client
            return ticket
        }
        var tickets = (1...6).map { ("a\($0)", ticket("ann", "a\($0)"), 1) }
        tickets += [("b1", ticket("ben", "b"), 1), ("b2", ticket("ben", "c"), 1)]
        let order = await order(tickets)
        #expect(Set(order.prefix(2)) == ["a1", "b1"], "\(order)")
        #expect(Set(order.prefix(4)) == ["a1", "a2", "b1", "b2"], "\(order)")
    }

    @Test func `a client holds no more than its share while others wait, and idle slots go to any client`() async {
        // Four slots: a quarter is one.
        let slots = DecodingSlots(width: 4, memoryLimit: 1000)
        let (begun, ended) = (Locked<[String]>([]), Locked<Set<String>>([]))
        func reaches(_ count: Int) async -> [String] {
            await eventually { begun.withLock { $0.count } >= count }
            return begun.withLock { $0 }
        }
        await withTaskGroup(of: Void.self) { group in
            func add(_ names: [String], cost: Int) async {
                for name in names {
                    var ticket = DecodingSlots.Ticket(priority: .normal, owner: nil, cost: cost)
                    ticket.client = String(name.prefix(1))
                    let all = slots.waiting + begun.withLock { $0.count }
                    group.addTask { [ticket] in
                        _ = try? await slots.run(ticket, memory: { 1 }, on: executor) {
                            begun.withLock { $0.append(name) }
                            block { ended.withLock { $0.contains(name) } }
                        }
                    }
                    await eventually { slots.waiting + begun.withLock { $0.count } != all }
                }
            }
            func end(_ name: String) { ended.withLock { _ = $0.insert(name) } }

            // The work of `a` seems cheap: without shares it would precede all further work of `b`.
            await add(["a1", "a2", "a3", "a4"], cost: 1)
            #expect(await reaches(4).count == 4)
            await add(["a5", "a6", "a7"], cost: 1)
            await add(["b1", "b2"], cost: 1000)
            end("a1")
            #expect(await reaches(5).last == "b1")
            end("b1")
            #expect(await reaches(6).last == "b2", "a holds three slots of four")
            end("a2")
            #expect(await reaches(7).last == "a5", "nobody waits who holds less than a share")
            for name in ["a3", "a4", "a5", "a6", "a7", "b2"] { end(name) }
        }
        #expect(slots.running == 0)
    }

    @Test func `a large original is charged by its cost, and priority comes first`() async {
        let order = await order([
            ("large1", ticket("large", cost: 100), 1), ("large2", ticket("large", cost: 100), 1),
            ("small1", ticket("small", cost: 10), 1), ("small2", ticket("small", cost: 10), 1),
            ("small3", ticket("small", cost: 10), 1), ("urgent", ticket("large", cost: 100, .high), 1),
        ])
        #expect(order.first == "urgent", "\(order)")
        #expect(order.last == "large2", "\(order)")
    }
}
