import Testing
import XMLParsing

struct XMLElementTests {
    @Test(arguments: [
        "", "<a>", "<a></b>", "<a><b></a></b>", "<a>&unknown;</a>", "<a/><b/>", "text", "<x:a/>",
        "<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        String(repeating: "<a>", count: 17) + String(repeating: "</a>", count: 17),
    ])
    func `XML that is not well-formed, has a document type or too many levels is refused`(text: String) {
        #expect(throws: XMLReader.Failure.self) { try XMLElement.parse(Array(text.utf8)) }
    }

    @Test func `an XML failure has its line`() {
        #expect { try XMLElement.parse(Array("<a>\n<b>\n</a>".utf8)) } throws: {
            ($0 as? XMLReader.Failure)?.line == 3
        }
    }

    @Test func `an element has its text and children, and is found in its document`() throws {
        let document = Array("\u{FEFF}\n<x:a xmlns:x='n' y='>'><b>1 &lt;&#x41;&#66;</b>\n<b/><c d='e' /></x:a> ".utf8)
        let element = try XMLElement.parse(document)
        #expect(element.name == "a" && element.text(of: "b") == "1 <AB" && element.children("b").count == 2)
        #expect(
            element.children.map { $0.source(in: document) } == ["<b>1 &lt;&#x41;&#66;</b>", "<b/>", "<c d='e' />"])
    }
}
