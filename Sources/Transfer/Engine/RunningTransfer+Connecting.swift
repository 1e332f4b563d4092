import CLibcurl
import Glibc
import HTTPSemantics

/// Applies the address policy, for the request and for each redirect. The host is judged before its name is resolved
/// (``AddressPolicy/refusal(of:)``), and the address when libcurl asks for a socket and knows the address. A reused connection was judged when it
/// was made, for the same host and port, because libcurl reuses connections only for these. The policy belongs to the engine, which owns the
/// connections, or to a gate. A service's gates that allow an endpoint all have the same verdict on it.
extension RunningTransfer {
    func judgeAddresses(_ handle: EasyHandle, _ context: UnsafeMutableRawPointer) {
        guard addressPolicy.judges else { return }
        clibcurl_setopt_socket_callback(handle.easy, onSocket)
        handle.set(CURLOPT_OPENSOCKETDATA, pointer: context)
        // Otherwise libcurl would use a proxy of the environment, and the proxy's address would be judged.
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
