import HTTPServer
import HTTPTypes
import Testing

@testable import ImageProxyAdmin

@Suite(.timeLimit(.minutes(5))) struct RouteTableTests {
    private func request(_ method: HTTPRequest.Method, _ target: String) -> AdminRequest {
        let client = ClientAddress("127.0.0.1")
        let head = RequestHead(method: method, target: .path(target))
        return AdminRequest(
            Request(head: head, client: client, peer: client, content: [], id: "1", received: .now))
    }

    /// The route's word for a request, or the methods of its path; nil when there is no route.
    private func answer(_ method: HTTPRequest.Method, _ target: String) async throws -> String? {
        var table = RouteTable()
        table.get("/") { _ in .bytes(Array("root".utf8), type: "text/plain") }
        table.get("a/b") { _ in .bytes(Array("b".utf8), type: "text/plain") }
        table.get("a/:id/c") { .bytes(Array("c \($0.parameters["id"] ?? "")".utf8), type: "text/plain") }
        table.delete("a/:id") { .bytes(Array("gone \($0.parameters["id"] ?? "")".utf8), type: "text/plain") }
        do {
            guard case .bytes(let bytes) = try await table.response(to: request(method, target)).body else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        } catch let error as AdminError {
            guard error.status != .methodNotAllowed else { return "only \(error.fields[.allow] ?? "")" }
            #expect(error.status == .notFound && error.fields[.allow] == nil)
            return nil
        }
    }

    @Test(
        arguments: [
            (.get, "/", "root"), (.get, "/?a=b", "root"), (.get, "/a/b", "b"), (.head, "/a/b", "b"),
            (.get, "/a/7/c", "c 7"),
            (.get, "/a/%2e%2e/c", "c %2e%2e"), (.delete, "/a/7", "gone 7"), (.delete, "/a/b", "gone b"),
            (.get, "/a/7", "only DELETE"), (.head, "/a/7", "only DELETE"), (.post, "/a/7", "only DELETE"),
            (.post, "/a/b", "only GET, HEAD, DELETE"), (.options, "/a/b", "only GET, HEAD, DELETE"),
            (.put, "/", "only GET, HEAD"), (.delete, "/a/7/c", "only GET, HEAD"),
            (.get, "/a", nil), (.delete, "/a", nil), (.get, "/a/b/c/d", nil), (.get, "/A/b", nil),
            (.delete, "/A/b", nil),
        ] as [(HTTPRequest.Method, String, String?)])
    func `a request is answered by the route of its method and path`(
        method: HTTPRequest.Method, target: String, expected: String?
    ) async throws {
        #expect(try await answer(method, target) == expected)
    }

    @Test func `parameters of the query are percent-decoded, once`() {
        let query = request(.get, "/a?search=a%20b%2525&limit=&x&search=c&bad=%zz")
        #expect(query.path == "/a")
        #expect(query.query("search") == "a b%25")
        #expect(query.query("limit") == "" && query.query("x") == "")
        #expect(query.query("bad") == "%zz")
        #expect(query.query("sea") == nil && query.query("limi") == nil)
    }
}
