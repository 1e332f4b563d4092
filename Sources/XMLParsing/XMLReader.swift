/// Reads an XML document as a sequence of events. A document type declaration is refused: nothing that is read here has one, and
/// entities that grow, or name files, are declared in one.
package final class XMLReader {
    /// Between an element's namespace and its name.
    package static let separator: Character = " "

    package enum Event {
        /// An element begins: its name, after its namespace and a space where it has one, and its attributes.
        case start(String, [String: String])
        /// Text of the element; it may come in several pieces.
        case text(String)
        case end
    }

    /// The place of an event in the document.
    package struct Place {
        package let line: Int
        package let bytes: Range<Int>
    }

    /// The reason why the document cannot be read.
    package struct Failure: Error {
        package let line: Int
        package let message: String
    }

    private let expat: Expat
    private let parser: Expat.Parser
    private let handle: (Event, Place) -> String?
    private var failure: Failure?

    /// Reads a document.
    ///
    /// - Parameter handle: Gets each event and its place; what it returns ends the reading as the reason for a failure.
    package static func read(
        _ document: [UInt8], _ handle: @escaping (Event, Place) -> String?
    ) throws(Failure) {
        guard let expat = Expat.opened() else {
            throw Failure(
                line: 1, message: "XML needs libexpat.so.1 (Debian package libexpat1), which cannot be opened")
        }
        guard let parser = expat.make(nil, CChar(Self.separator.asciiValue ?? 0)) else {
            throw Failure(line: 1, message: "there is no memory for it")
        }
        try XMLReader(expat, parser, handle).read(document)
    }

    private init(_ expat: Expat, _ parser: Expat.Parser, _ handle: @escaping (Event, Place) -> String?) {
        self.expat = expat
        self.parser = parser
        self.handle = handle
    }

    deinit { expat.free(parser) }

    private func read(_ document: [UInt8]) throws(Failure) {
        // The parser calls back during `parse` only, while this object lives.
        expat.setUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        expat.setElements(
            parser,
            { reader, name, attributes in XMLReader.of(reader)?.start(name, attributes) },
            { reader, _ in XMLReader.of(reader)?.tell(.end) })
        expat.setText(parser) { reader, text, count in
            guard let text else { return }
            let bytes = UnsafeRawBufferPointer(start: text, count: Int(count))
            XMLReader.of(reader)?.tell(.text(String(decoding: bytes, as: UTF8.self)))
        }
        expat.setDoctype(parser) { reader, _, _, _, _ in
            XMLReader.of(reader)?.fail("a document type declaration is refused")
        }
        var rest = document[...]
        repeat {
            let piece = rest.prefix(1 << 20)
            rest = rest.dropFirst(piece.count)
            let status = piece.withUnsafeBytes { bytes in
                expat.parse(
                    parser, bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count), rest.isEmpty ? 1 : 0)
            }
            if let failure { throw failure }
            guard status == 0 else { continue }
            let text = expat.errorText(expat.errorCode(parser)).map { String(cString: $0) } ?? "unknown error"
            throw Failure(line: line, message: "is not well-formed XML: \(text)")
        } while !rest.isEmpty
    }

    private var line: Int { Int(expat.line(parser)) }

    private var place: Place {
        let start = expat.byteIndex(parser)
        return Place(line: line, bytes: start..<start + Int(expat.byteCount(parser)))
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> XMLReader? {
        pointer.map { Unmanaged<XMLReader>.fromOpaque($0).takeUnretainedValue() }
    }

    private func start(_ name: UnsafePointer<CChar>?, _ list: UnsafeMutablePointer<UnsafePointer<CChar>?>?) {
        var attributes: [String: String] = [:]
        var next = list
        while let pair = next, let key = pair[0], let value = pair[1] {
            attributes[String(cString: key)] = String(cString: value)
            next = pair + 2
        }
        tell(.start(name.map { String(cString: $0) } ?? "", attributes))
    }

    private func tell(_ event: Event) {
        // The parser may still make some calls after it was stopped.
        guard failure == nil, let message = handle(event, place) else { return }
        fail(message)
    }

    private func fail(_ message: String) {
        if failure == nil { failure = Failure(line: line, message: message) }
        _ = expat.stop(parser, 0)
    }
}
