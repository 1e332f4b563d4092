import HTTPSemantics
import HTTPTypes

/// A request with parsed URL and checked fields, which all attempts of a transfer share.
///
/// A class, because the state machine that contains it is passed on between the engine and the transfer's task.
final class CheckedRequest: Sendable {
    let request: TransferRequest
    let url: HTTPURL
    let credentials: TransferOptions.Credentials?
    /// The request's content; empty for a method that expects content (RFC 9110 section 8.6), so that its length, 0, is sent.
    let content: [UInt8]?
    /// True if the body can be resumed. A requested content coding, for example, prevents this.
    let mayResume: Bool

    var options: TransferOptions { request.options }

    init(_ request: TransferRequest) throws(TransferError) {
        let url: HTTPURL
        do throws(InvalidURL) { url = try HTTPURL(request.url) } catch {
            throw TransferError(.unsupportedURL, url: URLText.withoutUserinfo(request.url), error.description)
        }
        self.request = request
        self.url = url
        credentials = request.options.credentials ?? TransferOptions.Credentials(userinfoOf: url)
        content = request.body ?? ([.post, .put, .patch].contains(request.method) ? [] : nil)
        let hasOwnRange = request.fields.contains(.range) || request.fields.contains(.ifRange)
        mayResume =
            request.method == .get && request.body == nil && !request.options.acceptsContentCoding && !hasOwnRange
        for name in [HTTPField.Name.range, .ifRange]
        where request.fields.contains(name) && !request.options.forwardsErrorResponses {
            throw TransferError(
                .invalidRequest, url: url.text, "the field \(name) is the transfer's own; it cannot be requested")
        }
    }
}
