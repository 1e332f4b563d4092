import Glibc

/// A connected or listening TCP socket on 127.0.0.1; closed by its owner.
struct Socket: Sendable {
    let descriptor: Int32

    /// A listening socket on an ephemeral port of 127.0.0.1, or of another address, and that port.
    static func listening(at host: UInt32 = 0x7F00_0001, backlog: Int32 = 512) throws -> (socket: Socket, port: UInt16)
    {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemCallFailure("socket") }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(host).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port: UInt16? = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard bind(descriptor, generic, length) == 0, listen(descriptor, backlog) == 0,
                    getsockname(descriptor, generic, &length) == 0
                else { return false }
                return true
            } ? UInt16(bigEndian: pointer.pointee.sin_port) : nil
        }
        guard let port else {
            let failure = SystemCallFailure("bind, listen")
            close(descriptor)
            throw failure
        }
        return (Socket(descriptor: descriptor), port)
    }

    /// A connection to a port of 127.0.0.1.
    static func connected(to port: UInt16) throws -> Socket {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemCallFailure("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let failure = SystemCallFailure("connect")
            close(descriptor)
            throw failure
        }
        return Socket(descriptor: descriptor)
    }

    /// The next connection, or nil once the socket was shut down.
    func accepted() -> Socket? {
        while true {
            let connection = accept(descriptor, nil, nil)
            if connection >= 0 {
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                var yes: Int32 = 1
                setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
                return Socket(descriptor: connection)
            }
            if errno != EINTR && errno != ECONNABORTED { return nil }
        }
    }

    /// A small send buffer, so that what was given to the kernel is close to what the peer has received.
    func limitSendBuffer(to bytes: Int32) {
        var bytes = bytes
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The next bytes, empty at the end of the stream or on an error.
    func received(upTo count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var got = -1
            repeat { got = recv(descriptor, buffer.baseAddress, count, 0) } while got < 0 && errno == EINTR
            initialized = max(got, 0)
        }
    }

    /// The number of `bytes` that the kernel accepted; fewer than all means that the peer has disconnected.
    func sent(_ bytes: UnsafeRawBufferPointer) -> Int {
        var done = 0
        while done < bytes.count {
            let count = send(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, Int32(MSG_NOSIGNAL))
            if count > 0 {
                done += count
            } else if errno != EINTR {
                break
            }
        }
        return done
    }

    /// Bytes that the kernel took and the peer has not acknowledged.
    var unacknowledged: Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    /// Bytes that lie in the peer's receive buffer because it has not read them; the peer is a process on this machine, with IPv4.
    ///
    /// The kernel is asked for this one socket (sock_diag(7)): /proc/net/tcp takes milliseconds, because it walks the table of all.
    var unreadByPeer: Int {
        let netlink = Glibc.socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), Self.socketDiagnosis)
        guard netlink >= 0 else { return 0 }
        defer { close(netlink) }
        let (peer, own) = (end(getpeername), end(getsockname))
        // struct nlmsghdr: length, type SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, sequence, port
        var request =
            Self.bytes(UInt32(72)) + Self.bytes(UInt16(20)) + Self.bytes(UInt16(1)) + [UInt8](repeating: 0, count: 8)
        // struct inet_diag_req_v2: family, protocol, extensions, padding, states, ends, interface, no cookie
        request += [UInt8(AF_INET), UInt8(IPPROTO_TCP), 0, 0] + Self.bytes(UInt32.max)
        request += Self.bytes(peer.sin_port) + Self.bytes(own.sin_port)
        for address in [peer.sin_addr, own.sin_addr] {
            request += Self.bytes(address.s_addr) + [UInt8](repeating: 0, count: 12)
        }
        request += Self.bytes(UInt32(0)) + Self.bytes(UInt64.max)
        var answer = [UInt8](repeating: 0, count: 512)
        guard send(netlink, request, request.count, 0) == request.count,
            recv(netlink, &answer, answer.count, 0) >= Self.endOfAnswer, answer[4] == 20
        else { return 0 }
        // idiag_rqueue of struct inet_diag_msg
        return answer.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: Self.endOfAnswer - 4, as: UInt32.self)) }
    }

    /// NETLINK_SOCK_DIAG.
    private static let socketDiagnosis: Int32 = 4
    private static let endOfAnswer = 16 + 60

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

    private func end(
        _ name: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) -> sockaddr_in {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &length) }
        }
        return address
    }

    /// POLLRDHUP, which Glibc's module map leaves out.
    private static let peerClosed: Int16 = 0x2000

    /// Returns true if the peer has closed or reset the connection; waits up to `milliseconds`.
    func peerHasGone(within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Self.peerClosed, revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    /// Ends both directions, which wakes a thread that is blocked on the socket; the descriptor stays valid.
    func shutDown() {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Closes in the orderly way (FIN) after the queued bytes, or at once with a reset that drops them.
    func finish(reset: Bool) {
        if reset {
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
        close(descriptor)
    }
}

/// The other end of a connected socket, on this machine.
public struct LocalPeer {
    private let socket: Socket

    public init(of descriptor: Int32) { socket = Socket(descriptor: descriptor) }

    /// True if it has read all that was sent to it.
    public var hasReadAll: Bool { socket.unacknowledged == 0 && socket.unreadByPeer == 0 }
}
