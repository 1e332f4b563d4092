import FoundationEssentials

/// An image of 16 × 16 pixels in TIFF with LZW, since this program does not write the format. Made with libtiff 4.5.
enum TIFFSample {
    static var bytes: [UInt8] { Data(base64Encoded: text).map { [UInt8]($0) } ?? [] }

    private static let text = """
        SUkqAD4AAACAAAAwOCQWDBCDQmCiCFQ0YQ2FECIQkoRODGCLQU4RmCICOQNIR8AqCRLCRMCRNCROCRPCRQEMAAABAwABAAAAEAAA\
        AAEBAwABAAAAEAAAAAIBAwABAAAACAAAAAMBAwABAAAABQAAAAYBAwABAAAAAQAAABEBBAABAAAACAAAABIBAwABAAAAAQAAABUB\
        AwABAAAAAQAAABYBAwABAAAAEAAAABcBBAABAAAANgAAABwBAwABAAAAAQAAAD0BAwABAAAAAgAAAAAAAAA=
        """
}
