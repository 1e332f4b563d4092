import CLinux
import Glibc
import Locking

/// The token that purging wants, as it is configured now.
final class AdminToken: Sendable {
    private let current: Locked<String?>

    init(_ configuration: ServerConfiguration) throws(SettingMistake) {
        current = Locked(try Self.read(configuration))
    }

    /// nil: nobody may purge.
    var value: String? { current.withLock { $0 } }

    /// Takes over another configuration; what was before holds when that has a mistake.
    func update(_ configuration: ServerConfiguration) throws(SettingMistake) {
        let token = try Self.read(configuration)
        current.withLock { $0 = token }
    }

    private static func read(_ configuration: ServerConfiguration) throws(SettingMistake) -> String? {
        guard let path = configuration.adminTokenFile else {
            guard let token = configuration.adminToken else { return nil }
            guard isToken(token) else {
                throw SettingMistake(setting: "admin-token", value: nil, problem: "is empty, or has spaces at its end")
            }
            return token
        }
        func mistake(_ problem: String) -> SettingMistake {
            SettingMistake(setting: "admin-token-file", value: path, problem: problem)
        }
        guard configuration.adminToken == nil else { throw mistake("is given beside admin-token; only one may be") }
        let descriptor = clinux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw mistake("cannot be opened: \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw mistake("is no file") }
        guard status.st_mode & 0o006 == 0 else {
            throw mistake("may be read or written by everybody; chmod 600 keeps it secret")
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw mistake("cannot be read: \(String(cString: strerror(errno)))") }
        let line = bytes.prefix(count).prefix { $0 != 10 && $0 != 13 }
        let token = String(decoding: line, as: UTF8.self)
        guard isToken(token) else { throw mistake("has no token in its first line") }
        return token
    }

    private static func isToken(_ text: String) -> Bool { !text.isEmpty && text.first != " " && text.last != " " }
}
