import Testing

@testable import imgcache

@Suite("Cache directories of others") struct DirectoryOwnershipTests {
    @Test(
        arguments: [
            (1000, 0o700, 1000, nil), (1000, 0o755, 1000, nil), (1000, 0o775, 1000, nil), (0, 0o755, 1000, nil),
            (1001, 0o700, 0, nil), (0, 0o700, 0, nil), (1001, 0o700, 1000, "belongs to user 1001"),
            (1001, 0o777, 1000, "belongs to user 1001"), (1000, 0o777, 1000, "everyone can write"),
            (1000, 0o1777, 1000, "everyone can write"), (1001, 0o702, 0, "everyone can write"),
            (0, 0o777, 1000, "everyone can write"),
        ] as [(UInt32, UInt32, UInt32, String?)])
    func `a directory of another user, or one that everyone can write into, is a concern`(
        owner: UInt32, mode: UInt32, user: UInt32, concern: String?
    ) {
        let found = DirectoryOwnership(owner: owner, mode: 0o040000 | mode).concern(for: user)
        #expect((found == nil) == (concern == nil))
        if let concern { #expect(found?.contains(concern) == true, "\(found ?? "")") }
    }

    @Test func `a directory that does not exist is no concern`() {
        #expect(DirectoryOwnership(of: "/nonexistent/cache") == nil)
    }
}
