import Digests
import FoundationEssentials
public import HTTPCaching
import HTTPTypes
import Transfer

/// What the store remembers of a response beside its body: all that later decisions need.
///
/// The same record stands at the head of a partial, so that a killed download can be continued and, once whole, stored
/// as if it had never been interrupted.
public struct ResponseRecord: Sendable, Equatable {
    /// The URL that was asked for, without userinfo.
    public var url: String
    /// The final response, as RFC 9111 sees it.
    public var response: StoredResponse

    /// Where redirects led.
    public var finalURL: String { response.finalURL }
}

extension ResponseRecord {
    init(_ head: ResponseHead, answering job: Job, rules: CacheRules) {
        let response = rules.stored(
            HTTPResponse(status: head.status, headerFields: head.fields), to: job.cacheRequest,
            redirects: head.storedRedirects, finalURL: head.finalURL, requestTime: head.requestTime,
            responseTime: head.responseTime)
        self.init(url: job.url, response: response)
    }

    /// What proves that a later answer is of the same representation; `nil` when nothing does.
    var validator: ResumeValidator? { head.resumeValidator }

    /// A date that may prove the same.
    var strongLastModified: String? { head.strongLastModified }

    private var head: ResponseHead {
        ResponseHead(
            status: response.status, fields: response.fields, finalURL: finalURL, requestTime: response.requestTime,
            responseTime: response.responseTime)
    }

    /// Whether a request with these fields asks for the same representation, as far as `Vary` tells (RFC 9111 section 4.1).
    ///
    /// Two languages of a page that were saved in the same second have the same Last-Modified, and servers give the plain
    /// and the compressed form the same ETag: the validator alone would join them. After `Vary: *`, where nothing can be
    /// compared, a strong ETag must do: it is unique among all representations of a resource (RFC 9110 section 8.8.3).
    func mayBeContinued(by fields: HTTPFields, rules: CacheRules) -> Bool {
        rules.variantKey(of: fields, for: response.fields, redirects: response.redirects) == nil
            ? response.fields[.eTag] != nil : rules.isSelected(response, by: fields)
    }

    /// Takes over what a 206 (Partial Content), or a 416 that proves the body complete, says anew (RFC 9111 section 3.4).
    mutating func update(by head: ResponseHead, to request: CacheRequest, rules: CacheRules) {
        // What a 416 says is about its own error page, but for the validator, which was compared.
        let fields = head.status == .partialContent ? head.fields : HTTPFields()
        response = rules.freshened(
            response, by: fields, request: request.fields, redirects: head.storedRedirects, finalURL: head.finalURL,
            requestTime: head.requestTime, responseTime: head.responseTime)
    }

    /// Bumped when the format changes; records of an unknown version count as absent. Those of version 1 hold the request's
    /// fields as they were sent.
    private static let formatVersion: UInt8 = 2

    var encoded: [UInt8] {
        var writer = FieldWriter()
        writer.write(Self.formatVersion)
        writer.write(url)
        writer.write(finalURL)
        writer.write(response.requestMethod.rawValue)
        writer.write(response.requestURL)
        writer.write(response.selectingFields)
        writer.write(Int64(response.status.code))
        writer.write(response.fields)
        writer.write(response.requestTime.timeIntervalSince1970)
        writer.write(response.responseTime.timeIntervalSince1970)
        writer.write(length: response.redirects.count)
        for hop in response.redirects {
            writer.write(Int64(hop.status.code))
            writer.write(hop.fields)
        }
        writer.write(response.ownVersion)
        writer.write(UInt8(response.isInvalidated ? 1 : 0))
        return writer.bytes
    }

    /// `nil` for bytes that are damaged or of another version.
    init?(decoding bytes: [UInt8]) {
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
            redirects.append(StoredHead(status: status, fields: fields))
        }
        guard let ownVersion = reader.readOptionalString(), let invalidated = reader.readByte(), reader.isAtEnd else {
            return nil
        }
        self.url = url
        response = StoredResponse(
            requestMethod: method, requestURL: requestURL, finalURL: finalURL, requestFields: selecting.raw,
            selectingFields: selecting.digests, redirects: redirects,
            status: status, fields: fields, requestTime: Date(timeIntervalSince1970: requestTime),
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
    /// What a record holds of the request's fields: in version 1 the fields themselves.
    fileprivate mutating func readSelecting(_ version: UInt8) -> (raw: HTTPFields, digests: SelectingFields?)? {
        if version == 1 { return readFields().map { ($0, nil) } }
        guard let count = readLength(), count <= 1000 else { return nil }
        var values: [SelectingFields.Value] = []
        for _ in 0..<count {
            guard let name = readString(), let isThere = readByte(), isThere <= 1 else { return nil }
            var digest: [UInt8]?
            if isThere == 1 {
                digest = []
                for _ in 0..<SHA256.byteCount {
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

extension ResponseHead {
    /// The redirects on the way here, as the caching rules see them: without where they led, which is of no use to a
    /// later decision and may hold a password.
    var storedRedirects: [StoredHead] {
        redirects.map { hop in
            var fields = hop.fields
            fields[.location] = nil
            return StoredHead(status: hop.status, fields: fields)
        }
    }
}
