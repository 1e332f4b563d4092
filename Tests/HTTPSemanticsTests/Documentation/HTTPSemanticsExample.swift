// Sources/HTTPSemantics/HTTPSemantics.docc/HTTPSemantics.md shows this file from the next line on, word for word.
import HTTPSemantics

func inspect() throws {
    let url = try HTTPURL("HTTPS://Example.com:443/a/../b.jpg")
    print(url.normalized)  // https://example.com/b.jpg
    let tag = EntityTag("\"abc\"")
    print(tag?.text ?? "not an entity tag")
}
