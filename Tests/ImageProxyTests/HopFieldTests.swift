import HTTPTypes
import NIOCore
import Testing

@testable import HTTPServer
@testable import ImageProxy

struct HopFieldTests {
    @Test func `the passes of a proxy are counted in Via`() {
        #expect(Via.passes(of: "me", in: [.via: "1.1 me, 1.0 you (a me), HTTP/2 me (x)"]) == 2)
        #expect(Via.passes(of: "me", in: [:]) == 0)
    }

    @Test func `fields of one connection are separated from the others`() throws {
        var reader = RequestReader(limits: RequestLimits())
        var buffer = ByteBuffer(
            string: "GET / HTTP/1.1\r\nHost: x\r\nConnection: close, A\r\nA: 1\r\nB: 2\r\nTE: x\r\nB: 3\r\n\r\n")
        guard case .head(let head) = try reader.next(&buffer) else {
            Issue.record("no head")
            return
        }
        #expect(HopByHop.endToEnd(head).map { "\($0.name): \($0.value)" } == ["B: 2", "B: 3"])
    }
}
