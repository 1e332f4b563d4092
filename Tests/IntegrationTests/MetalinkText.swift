import TestSupport

/// A Metalink file with one file, its size, its SHA-256 and those of its pieces.
func metalink(_ bytes: [UInt8], name: String, pieces length: Int, urls: [String]) -> String {
    let hashes = stride(from: 0, to: bytes.count, by: length).map {
        "<hash>\(SHA256.hex(of: Array(bytes[$0..<min(bytes.count, $0 + length)])))</hash>"
    }
    let links = urls.enumerated().map { "<url priority=\"\($0 + 1)\">\($1)</url>" }.joined()
    return """
        <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="\(name)"><size>\(bytes.count)</size>
        <hash type="sha-256">\(SHA256.hex(of: bytes))</hash>
        <pieces length="\(length)" type="sha-256">\(hashes.joined())</pieces>\(links)</file></metalink>
        """
}
