import DynamicLibraries

/// The functions of libexpat that reading a document needs.
///
/// libexpat is opened with `dlopen` when the first document is read, as the image libraries are: no other command pays for it.
struct Expat: Sendable {
    typealias Parser = OpaquePointer
    typealias StartElement =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<CChar>?, UnsafeMutablePointer<UnsafePointer<CChar>?>?
        ) -> Void
    typealias EndElement = @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?) -> Void
    typealias Text = @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, Int32) -> Void
    typealias StartDoctype =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, Int32
        ) -> Void

    let make: @convention(c) (UnsafePointer<CChar>?, CChar) -> Parser?
    let free: @convention(c) (Parser) -> Void
    let setUserData: @convention(c) (Parser, UnsafeMutableRawPointer?) -> Void
    let setElements: @convention(c) (Parser, StartElement?, EndElement?) -> Void
    let setText: @convention(c) (Parser, Text?) -> Void
    let setDoctype: @convention(c) (Parser, StartDoctype?) -> Void
    let parse: @convention(c) (Parser, UnsafePointer<CChar>?, Int32, Int32) -> Int32
    let stop: @convention(c) (Parser, UInt8) -> Int32
    let errorCode: @convention(c) (Parser) -> Int32
    let errorText: @convention(c) (Int32) -> UnsafePointer<CChar>?
    let line: @convention(c) (Parser) -> UInt
    let byteIndex: @convention(c) (Parser) -> Int
    let byteCount: @convention(c) (Parser) -> Int32

    private static let library = DynamicLibrary("libexpat.so.1", Expat.init)

    /// `nil` when it cannot be opened.
    static func opened() -> Expat? { library.functions() }

    private init?(_ symbols: DynamicLibrarySymbols) {
        guard
            let make: @convention(c) (UnsafePointer<CChar>?, CChar) -> Parser? = symbols.function("XML_ParserCreateNS"),
            let free: @convention(c) (Parser) -> Void = symbols.function("XML_ParserFree"),
            let setUserData: @convention(c) (Parser, UnsafeMutableRawPointer?) -> Void = symbols.function(
                "XML_SetUserData"),
            let setElements: @convention(c) (Parser, StartElement?, EndElement?) -> Void = symbols.function(
                "XML_SetElementHandler"),
            let setText: @convention(c) (Parser, Text?) -> Void = symbols.function("XML_SetCharacterDataHandler"),
            let setDoctype: @convention(c) (Parser, StartDoctype?) -> Void = symbols.function(
                "XML_SetStartDoctypeDeclHandler"),
            let parse: @convention(c) (Parser, UnsafePointer<CChar>?, Int32, Int32) -> Int32 = symbols.function(
                "XML_Parse"),
            let stop: @convention(c) (Parser, UInt8) -> Int32 = symbols.function("XML_StopParser"),
            let errorCode: @convention(c) (Parser) -> Int32 = symbols.function("XML_GetErrorCode"),
            let errorText: @convention(c) (Int32) -> UnsafePointer<CChar>? = symbols.function("XML_ErrorString"),
            let line: @convention(c) (Parser) -> UInt = symbols.function("XML_GetCurrentLineNumber"),
            let byteIndex: @convention(c) (Parser) -> Int = symbols.function("XML_GetCurrentByteIndex"),
            let byteCount: @convention(c) (Parser) -> Int32 = symbols.function("XML_GetCurrentByteCount")
        else { return nil }
        self.make = make
        self.free = free
        self.setUserData = setUserData
        self.setElements = setElements
        self.setText = setText
        self.setDoctype = setDoctype
        self.parse = parse
        self.stop = stop
        self.errorCode = errorCode
        self.errorText = errorText
        self.line = line
        self.byteIndex = byteIndex
        self.byteCount = byteCount
    }
}
