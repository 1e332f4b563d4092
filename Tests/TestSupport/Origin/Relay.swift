import ConcurrencyPrimitives
import Foundation
import Glibc

/// Passes bytes between clients and a server, and cuts each connection after so many bytes of the server's.
public final class Relay: Sendable {
    /// The point at which a connection ends.
    public struct Cut: Sendable {
        /// Bytes of the server's that still pass, handshakes and heads included.
        public var after: Int
        /// By a reset rather than in the orderly way.
        public var isReset: Bool

        public init(after: Int, isReset: Bool) {
            self.after = after
            self.isReset = isReset
        }
    }

    public let port: UInt16
    private let listener: Socket

    /// - Parameter cut: where a connection, counted from 1, ends; nil: where the server or the client ends it.
    public init(to server: UInt16, cut: @escaping @Sendable (_ connection: Int) -> Cut?) throws {
        let (listener, port) = try Socket.listening()
        (self.listener, self.port) = (listener, port)
        Thread.detachNewThread {
            var number = 0
            while let client = listener.accepted() {
                number += 1
                let cut = cut(number)
                Thread.detachNewThread { Self.serve(client, server, cut) }
            }
            close(listener.descriptor)
        }
    }

    deinit { listener.shutDown() }

    private static func serve(_ client: Socket, _ port: UInt16, _ cut: Cut?) {
        guard let server = try? Socket.connected(to: port) else { return client.finish(reset: true) }
        let upstream = try? SystemThread {
            while true {
                let bytes = client.received(upTo: 1 << 16)
                if bytes.isEmpty || bytes.withUnsafeBytes({ server.sent($0) }) < bytes.count { break }
            }
            server.shutDown()
        }
        var left = cut?.after ?? .max
        while left > 0 {
            let bytes = server.received(upTo: min(left, 1 << 14))
            left -= bytes.count
            if bytes.isEmpty || bytes.withUnsafeBytes({ client.sent($0) }) < bytes.count { break }
        }
        // The other thread ends when neither has anything more to say.
        server.shutDown()
        shutdown(client.descriptor, Int32(SHUT_RD))
        upstream?.join()
        server.finish(reset: false)
        client.finish(reset: left == 0 && cut?.isReset == true)
    }
}
