import Foundation
import TestSupport
import Testing

/// `imgcache sign`.
@Suite(.fewAtATime) struct SignTests {
    private let work: TestWorkspace

    init() throws {
        work = try TestWorkspace()
        try write(
            "new:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\nold:/v79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=\n")
    }

    private func write(_ text: String, mode: Int = 0o600) throws {
        try text.write(toFile: work.output("keys"), atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: work.output("keys"))
    }

    @Test func `sign prints each URL with its signature, whatever the host`() async throws {
        let outcome = try await work.run(
            "sign", "--key-file", "keys", "--expires", "@1795000000", "https://img.example/image/w=256/a.jpg?v=2",
            "/image/w=256/a.jpg?v=2", "http://img.example:8080")
        #expect(outcome.ending == .exited(0), "\(outcome)")
        let signed =
            "/image/w=256/a.jpg?v=2&imgcache-kid=new&imgcache-exp=1795000000&imgcache-sig=tzLUeXsCqek7cIeQD0ob6Zlt-3dY-z2Qxo_0NuJl3yg"
        #expect(outcome.lines.prefix(2) == ["https://img.example" + signed, signed])
        #expect(outcome.lines.last?.hasPrefix("http://img.example:8080/?imgcache-kid=new&") == true)
    }

    @Test func `sign uses the named key and an expiry relative to now`() async throws {
        let before = Int(Date().timeIntervalSince1970)
        let outcome = try await work.run(
            "sign", "--json", "--key-file", "keys", "--key-id", "old", "--expires", "1h", "/a")
        let object = try #require(outcome.objects.first, "\(outcome)")
        #expect(object["key_id"] as? String == "old")
        let expires = try #require(object["expires"] as? Int)
        #expect((before + 3600...before + 3660).contains(expires))
        #expect((object["url"] as? String)?.hasPrefix("/a?imgcache-kid=old&imgcache-exp=\(expires)&") == true)
    }

    @Test func `sign rejects an invalid URL or key file and prints nothing`() async throws {
        for (arguments, reason) in [
            (["/a", "/b c"], "percent-encode"), (["--key-id", "third", "/a"], "no key third"),
            (["/a?imgcache-sig=x"], "already"),
        ] {
            let outcome = try await work.command.run(["sign", "--key-file", "keys"] + arguments)
            #expect(outcome.ending == .exited(2), "\(outcome)")
            #expect(outcome.lines == [])
            #expect(outcome.errorOutput.contains(reason), "\(outcome)")
        }
        try write("new:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", mode: 0o644)
        let open = try await work.run("sign", "--key-file", "keys", "/a")
        #expect(open.ending == .exited(2) && open.errorOutput.contains("chmod 600"), "\(open)")
    }
}
