import HTTPTypes
import Testing

@testable import ImageCache

@Suite("Which requests are the same")
struct RequestIdentityTests {
    private func request(_ name: HTTPField.Name, _ value: [UInt8]) -> FileRequest {
        var request = FileRequest("http://example.org/a")
        request.fields.append(HTTPField(name: name, lenientValue: value))
        return request
    }

    @Test("Requests whose fields differ in bytes that are no text share no load")
    func loads() {
        #expect(FlightKey(request(.cookie, [0xFF])) != FlightKey(request(.cookie, [0xFE])))
        #expect(FlightKey(request(.cookie, [0xFF])) == FlightKey(request(.cookie, [0xFF])))
    }

    @Test("Credentials that differ in such bytes have namespaces of their own")
    func owners() {
        let owners = [[0xFF], [0xFE], Array("a".utf8)].map {
            Job.owner(of: request(.authorization, $0), userinfo: nil)
        }
        #expect(Set(owners).count == 3)
        // A SHA-256, and ever the same: what is stored under it is found again.
        #expect(owners[2] == "authorization:ffe9aaeaa2a2d5048174df0b80599ef0197ec024c4b051bc9860cff58ef7f9f3")
    }
}
