import ConcurrencyPrimitives
import Glibc

/// Notifies systemd of the service's state (sd_notify(3)), with a datagram to the socket named in the environment. Does nothing if there is
/// none.
///
/// A reload is reported only while the service is ready: its end must not report a service as ready that is starting or stopping.
final class SystemdNotifier: Sendable {
    enum State: Sendable {
        case ready, reloading, reloaded, stopping
    }

    private let socket: String?
    private let isReady = Locked(false)

    /// - Parameter socket: The socket's path, or an abstract name that begins with `@`.
    init(socket: String?) { self.socket = socket }

    func notify(_ state: State) {
        isReady.withLock { isReady in
            if let message = Self.message(state, &isReady) { send(message) }
        }
    }

    /// The message about a state, or nil if there is none.
    static func message(_ state: State, _ isReady: inout Bool) -> String? {
        switch state {
        case .ready: isReady = true
        case .reloading where isReady:
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            return "RELOADING=1\nMONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1000)"
        case .reloaded where isReady: break
        case .reloading, .reloaded: return nil
        case .stopping:
            isReady = false
            return "STOPPING=1"
        }
        return "READY=1"
    }

    private func send(_ text: String) {
        guard let name = socket, let first = name.utf8.first else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(name.utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        if first == UInt8(ascii: "@") { path[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let bytes = Array(text.utf8)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
