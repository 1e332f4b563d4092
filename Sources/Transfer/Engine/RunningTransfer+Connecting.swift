import CLibcurl
import Glibc
import HTTPSemantics

/// The address policy: the host is judged before its name is resolved (``AddressPolicy/refusal(of:)``), the address when
/// libcurl asks for a socket, because it then knows what it will connect to; for the request and for each redirect. A connection that
/// is reused was judged when it was made, for the same host and port: libcurl reuses one for its own host and port only. The policy is
/// the engine's, as the connections are, or that of a gate, whose service has one verdict on an endpoint in all of its gates that let it
/// be asked.
extension RunningTransfer {
    func judgeAddresses(_ handle: EasyHandle, _ context: UnsafeMutableRawPointer) {
        guard addressPolicy.judges else { return }
        clibcurl_setopt_socket_callback(handle.easy, onSocket)
        handle.set(CURLOPT_OPENSOCKETDATA, pointer: context)
        // Else libcurl takes a proxy from the environment, and the proxy's would be the address to be judged.
        _ = handle.set(CURLOPT_PROXY, "")
    }

    fileprivate func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
        let socketAddress = (UnsafeRawPointer(address) + offset).assumingMemoryBound(to: sockaddr.self)
        let refusal = addressPolicy.refusal(
            of: NetworkAddress(socketAddress, length: Int(address.pointee.addrlen)), for: machine.sent?.hop.endpoint)
        if let refusal {
            machine.refusedAddress(refusal)
            return -1
        }
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        return socket(address.pointee.family, type, address.pointee.protocol)
    }

    var addressPolicy: AddressPolicy { machine.rules.addressPolicy }
}

private let onSocket: clibcurl_socket_callback = { context, _, address in
    guard let context else { return -1 }
    return Unmanaged<RunningTransfer>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.openSocket(address) }
}
