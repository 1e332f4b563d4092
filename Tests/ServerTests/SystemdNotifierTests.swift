import Testing

@testable import imgcache_server

struct SystemdNotifierTests {
    @Test(
        arguments: [
            ([.ready, .reloading, .reloaded, .stopping], ["READY=1", "RELOADING=1", "READY=1", "STOPPING=1"]),
            // A reload before the listeners are open, or during the shutdown.
            ([.reloading, .reloaded, .ready], ["READY=1"]),
            ([.ready, .stopping, .reloading, .reloaded], ["READY=1", "STOPPING=1"]),
            ([.ready, .reloading, .stopping, .reloaded], ["READY=1", "RELOADING=1", "STOPPING=1"]),
        ] as [([SystemdNotifier.State], [String])])
    func `a reload reports a service as ready only if it was and is`(
        states: [SystemdNotifier.State], expected: [String]
    ) {
        var isReady = false
        var messages: [String] = []
        for state in states {
            guard let message = SystemdNotifier.message(state, &isReady) else { continue }
            messages.append(String(message.prefix { $0 != "\n" }))
        }
        #expect(messages == expected)
    }
}
