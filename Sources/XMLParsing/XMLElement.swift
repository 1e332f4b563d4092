/// An element of a document that is small enough to be held as a whole. Attributes, comments and processing instructions are ignored.
package struct XMLElement: Sendable {
    /// Levels of a document at most.
    private static let maxDepth = 16

    /// The name without its namespace.
    package let name: String
    /// The text in front of, between and behind the children.
    package fileprivate(set) var text = ""
    package fileprivate(set) var children: [XMLElement] = []
    /// The bytes of the document that the element is written in.
    private let start: Int
    fileprivate var end = 0

    /// Parses a document.
    ///
    /// - Throws: ``XMLReader/Failure`` if the document is not well-formed, has a document type, or has more than 16 levels.
    package static func parse(_ document: [UInt8]) throws(XMLReader.Failure) -> XMLElement {
        var open: [XMLElement] = []
        var root: XMLElement?
        try XMLReader.read(document) { event, place in
            switch event {
            case .start(let name, _):
                guard open.count < maxDepth else { return "elements stand in each other more than \(maxDepth) deep" }
                open.append(XMLElement(name: local(name), start: place.bytes.lowerBound))
            case .text(let text): open[open.count - 1].text += text
            case .end:
                var element = open.removeLast()
                element.end = place.bytes.upperBound
                if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
            }
            return nil
        }
        guard let root else { throw XMLReader.Failure(line: 1, message: "there is no element") }
        return root
    }

    private init(name: String, start: Int) {
        self.name = name
        self.start = start
    }

    package func children(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

    /// The text of the first child with a name.
    package func text(of name: String) -> String? { children.first { $0.name == name }?.text }

    /// The element as it is written in its document.
    package func source(in document: [UInt8]) -> String { String(decoding: document[start..<end], as: UTF8.self) }

    private static func local(_ name: String) -> String {
        name.lastIndex(of: XMLReader.separator).map { String(name[name.index(after: $0)...]) } ?? name
    }
}
