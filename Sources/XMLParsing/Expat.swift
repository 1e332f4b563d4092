import Glibc

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

    /// nil when it cannot be opened.
    static let shared = Expat()

    private init?() {
        guard let handle = dlopen("libexpat.so.1", RTLD_NOW | RTLD_LOCAL) else { return nil }
        func symbol<Function>(_ name: String) -> Function? {
            dlsym(handle, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard let make: @convention(c) (UnsafePointer<CChar>?, CChar) -> Parser? = symbol("XML_ParserCreateNS"),
            let free: @convention(c) (Parser) -> Void = symbol("XML_ParserFree"),
            let setUserData: @convention(c) (Parser, UnsafeMutableRawPointer?) -> Void = symbol("XML_SetUserData"),
            let setElements: @convention(c) (Parser, StartElement?, EndElement?) -> Void = symbol(
                "XML_SetElementHandler"),
            let setText: @convention(c) (Parser, Text?) -> Void = symbol("XML_SetCharacterDataHandler"),
            let setDoctype: @convention(c) (Parser, StartDoctype?) -> Void = symbol("XML_SetStartDoctypeDeclHandler"),
            let parse: @convention(c) (Parser, UnsafePointer<CChar>?, Int32, Int32) -> Int32 = symbol("XML_Parse"),
            let stop: @convention(c) (Parser, UInt8) -> Int32 = symbol("XML_StopParser"),
            let errorCode: @convention(c) (Parser) -> Int32 = symbol("XML_GetErrorCode"),
            let errorText: @convention(c) (Int32) -> UnsafePointer<CChar>? = symbol("XML_ErrorString"),
            let line: @convention(c) (Parser) -> UInt = symbol("XML_GetCurrentLineNumber"),
            let byteIndex: @convention(c) (Parser) -> Int = symbol("XML_GetCurrentByteIndex"),
            let byteCount: @convention(c) (Parser) -> Int32 = symbol("XML_GetCurrentByteCount")
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
