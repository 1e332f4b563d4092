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
    /// Where redirects led.
    public var finalURL: String
    /// The final response, as RFC 9111 sees it.
    public var response: StoredResponse
}

extension ResponseRecord {
    init(_ head: ResponseHead, answering job: Job, rules: CacheRules) {
        let response = rules.stored(
            HTTPResponse(status: head.status, headerFields: head.fields), to: job.cacheRequest,
            redirects: head.storedRedirects, requestTime: head.requestTime, responseTime: head.responseTime)
        self.init(url: job.url, finalURL: head.finalURL, response: response)
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
        let redirects = response.redirects
        guard let asked = rules.variantKey(of: fields, for: response.fields, redirects: redirects) else {
            return response.fields[.eTag] != nil
        }
        return asked == rules.variantKey(of: response.requestFields, for: response.fields, redirects: redirects)
    }

    /// Takes over what a 206 (Partial Content), or a 416 that proves the body complete, says anew (RFC 9111 section 3.4).
    mutating func update(by head: ResponseHead, rules: CacheRules) {
        finalURL = head.finalURL
        // What a 416 says is about its own error page, but for the validator, which was compared.
        let fields = head.status == .partialContent ? head.fields : HTTPFields()
        response = rules.freshened(
            response, by: fields, redirects: head.storedRedirects, requestTime: head.requestTime,
            responseTime: head.responseTime)
    }

    /// Bumped when the format changes; records of another version count as absent.
    private static let formatVersion: UInt8 = 1

    var encoded: [UInt8] {
        var writer = FieldWriter()
        writer.write(Self.formatVersion)
        writer.write(url)
        writer.write(finalURL)
        writer.write(response.requestMethod.rawValue)
        writer.write(response.requestURL)
        writer.write(response.requestFields)
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
        guard reader.readByte() == Self.formatVersion,
            let url = reader.readString(), let finalURL = reader.readString(),
            let method = reader.readString().flatMap({ HTTPRequest.Method(rawValue: $0) }),
            let requestURL = reader.readString(), let requestFields = reader.readFields(),
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
        self.finalURL = finalURL
        response = StoredResponse(
            requestMethod: method, requestURL: requestURL, requestFields: requestFields, redirects: redirects,
            status: status, fields: fields, requestTime: Date(timeIntervalSince1970: requestTime),
            responseTime: Date(timeIntervalSince1970: responseTime), ownVersion: ownVersion,
            isInvalidated: invalidated != 0)
    }
}

extension FieldReader {
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
