import HTTPSemantics
import HTTPTypes

/// A request whose URL was parsed and whose fields were checked: what all attempts of a transfer have in common.
struct CheckedRequest: Sendable {
    let request: TransferRequest
    let url: HTTPURL
    let credentials: TransferOptions.Credentials?
    /// The request's content. Empty where a method means something by having some (RFC 9110 section 8.6): its length, 0, is sent.
    let content: [UInt8]?
    /// A coding that the caller asked for is not resumable.
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
