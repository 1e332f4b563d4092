import Glibc
import NIOCore

extension ListenAddress {
    /// The reason why listening failed, for display.
    package static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case SocketAddressError.unknown: "there is no such host"
        default: "\(error)"
        }
    }
}
