import HTTPTypes
import Testing

@testable import HTTPSemantics

@Suite("Links of a response (RFC 8288)")
struct WebLinkTests {
    private func links(_ values: String...) -> [WebLink] {
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .known("Link"), value: value)) }
        return WebLink.all(in: fields)
    }

    @Test func `targets, relations and parameters of links are read from several lines and members`() {
        let all = links(
            "</zsync/1/a,b>; rel=\"describedby up\"; Type=\"Application/X-Zsync\", <http://h/x>;rel=duplicate ; pri=1",
            "<c>; rel=next")
        #expect(all.map(\.target) == ["/zsync/1/a,b", "http://h/x", "c"])
        #expect(all.map(\.relations) == [["describedby", "up"], ["duplicate"], ["next"]])
        #expect(all[0].type == "application/x-zsync" && all[1]["pri"] == "1" && all[2].type == nil)
    }

    @Test(arguments: ["", "a; rel=next", "<a; rel=next", "rel=next", ";"])
    func `an invalid link is skipped`(_ value: String) {
        #expect(links(value).isEmpty)
        #expect(links(value, "<b>; rel=up").map(\.target) == ["b"])
    }

    @Test func `a link parameter without a value is skipped, and a link needs no parameters`() {
        #expect(links("<a>; crossorigin; rel=\"\"; title=x").map(\.parameters.count) == [1])
        #expect(links("<a>").map(\.relations) == [[]])
    }
}
