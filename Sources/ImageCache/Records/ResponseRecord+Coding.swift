import FoundationEssentials
import HTTPCaching
import HTTPSemantics
import HTTPTypes

extension ResponseRecord {
    /// Increased when the format changes. Records of an unknown version are ignored. Records of version 1 have the request's fields in
    /// plain.
    private static let formatVersion: UInt8 = 2

    /// The record's bytes. The values of cookies are left out, because they are meant only for the client that received the response.
    package var encoded: [UInt8] {
        var writer = FieldWriter()
        writer.write(Self.formatVersion)
        writer.write(url)
        writer.write(finalURL)
        writer.write(response.requestMethod.rawValue)
        writer.write(response.requestURL)
        writer.write(response.selectingFields)
        writer.write(Int64(response.status.code))
        writer.write(response.fields.withEmptyCookies)
        writer.write(response.requestTime.timeIntervalSince1970)
        writer.write(response.responseTime.timeIntervalSince1970)
        writer.write(length: response.redirects.count)
        for hop in response.redirects {
            writer.write(Int64(hop.status.code))
            writer.write(hop.fields.withEmptyCookies)
        }
        writer.write(response.ownVersion)
        writer.write(UInt8(response.isInvalidated ? 1 : 0))
        return writer.bytes
    }

    /// Returns `nil` for bytes that are damaged or of an unknown version.
    package init?(decoding bytes: [UInt8]) {
        var reader = FieldReader(bytes)
        guard let version = reader.readByte(), (1...Self.formatVersion).contains(version),
            let url = reader.readString(), let finalURL = reader.readString(),
            let method = reader.readString().flatMap({ HTTPRequest.Method(rawValue: $0) }),
            let requestURL = reader.readString(), let selecting = reader.readSelecting(version),
            let status = reader.readStatus(), let fields = reader.readFields(),
            let requestTime = reader.readDouble(), let responseTime = reader.readDouble(),
            let hopCount = reader.readLength(), hopCount <= 1000
        else { return nil }
        var redirects: [StoredHead] = []
        for _ in 0..<hopCount {
            guard let status = reader.readStatus(), let fields = reader.readFields() else { return nil }
            redirects.append(StoredHead(status: status, fields: fields.withEmptyCookies))
        }
        guard let ownVersion = reader.readOptionalString(), let invalidated = reader.readByte(), reader.isAtPadding
        else {
            return nil
        }
        self.url = url
        response = StoredResponse(
            requestMethod: method, requestURL: requestURL, finalURL: finalURL, requestFields: selecting.raw,
            selectingFields: selecting.digests, redirects: redirects,
            status: status, fields: fields.withEmptyCookies, requestTime: Date(timeIntervalSince1970: requestTime),
            responseTime: Date(timeIntervalSince1970: responseTime), ownVersion: ownVersion,
            isInvalidated: invalidated != 0)
    }
}

extension FieldWriter {
    fileprivate mutating func write(_ fields: SelectingFields) {
        write(length: fields.values.count)
        for value in fields.values {
            write(value.name)
            write(UInt8(value.digest == nil ? 0 : 1))
            for byte in value.digest ?? [] { write(byte) }
        }
    }
}

extension FieldReader {
    /// Reads the selecting request fields: digests, or in version 1 the fields themselves.
    fileprivate mutating func readSelecting(_ version: UInt8) -> (raw: HTTPFields, digests: SelectingFields?)? {
        if version == 1 { return readFields().map { ($0, nil) } }
        guard let count = readLength(), count <= 1000 else { return nil }
        var values: [SelectingFields.Value] = []
        for _ in 0..<count {
            guard let name = readString(), let isThere = readByte(), isThere <= 1 else { return nil }
            var digest: [UInt8]?
            if isThere == 1 {
                digest = []
                for _ in 0..<SelectingFields.Value.digestSize {
                    guard let byte = readByte() else { return nil }
                    digest?.append(byte)
                }
            }
            values.append(SelectingFields.Value(name: name, digest: digest))
        }
        return (HTTPFields(), SelectingFields(values))
    }

    fileprivate mutating func readStatus() -> HTTPResponse.Status? {
        guard let code = readInt64(), (100...999).contains(code) else { return nil }
        return HTTPResponse.Status(code: Int(code))
    }
}
