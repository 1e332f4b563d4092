import CLinux
import Glibc

extension ServerConfiguration {
    /// The token that purging needs, from the settings or from the file that they name; nil: nobody may purge.
    func purgeToken() throws(SettingError) -> String? {
        guard let path = adminTokenFile else {
            guard let token = adminToken else { return nil }
            guard Self.isToken(token) else {
                throw SettingError(setting: "admin-token", value: nil, problem: "is empty, or has spaces at its end")
            }
            return token
        }
        func mistake(_ problem: String) -> SettingError {
            SettingError(setting: "admin-token-file", value: path, problem: problem)
        }
        guard adminToken == nil else { throw mistake("is given beside admin-token; only one may be") }
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
        guard Self.isToken(token) else { throw mistake("has no token in its first line") }
        return token
    }

    private static func isToken(_ text: String) -> Bool { !text.isEmpty && text.first != " " && text.last != " " }
}
