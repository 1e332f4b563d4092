import CLibcurl

extension TransportFailure {
    /// The meaning of a libcurl result, from the code, and from libcurl's message if one code has several meanings.
    ///
    /// - Parameters:
    ///   - text: The content of `CURLOPT_ERRORBUFFER`.
    ///   - hasHead: True if a final head was received.
    ///   - isRedirected: True if the URL is the target of a redirect.
    init(_ result: CURLcode, text: String, hasHead: Bool, isRedirected: Bool) {
        let text = text.isEmpty ? String(cString: clibcurl_easy_strerror(result)) : text
        func failure(_ code: TransferError.Code, _ lead: String, retry: Bool) -> (TransferError.Code, String, Bool) {
            (code, lead.isEmpty ? text : "\(lead): \(text)", retry)
        }
        let (code, message, isRetryable) =
            switch result {
            // ``HTTPURL`` accepts few URLs that libcurl does not, such as an address with too many parts.
            case CURLE_URL_MALFORMAT:
                failure(isRedirected ? .badRedirect : .unsupportedURL, "not a URL that can be fetched", retry: false)
            case CURLE_UNSUPPORTED_PROTOCOL: failure(.protocolViolation, "the response is not HTTP", retry: false)
            // libcurl's message would contain the URL with its password.
            case CURLE_COULDNT_RESOLVE_PROXY where text.hasPrefix("Unsupported proxy syntax"):
                (.resolve, "the proxy's URL cannot be understood", false)
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: failure(.resolve, "", retry: true)
            case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_PROXY: failure(.connect, "", retry: true)
            case CURLE_OPERATION_TIMEDOUT: failure(.timeout, "", retry: true)
            case CURLE_SSL_CONNECT_ERROR:
                // One code for a broken connection and for incompatible sides.
                failure(
                    .tls, "the TLS handshake failed",
                    retry: text.contains("reset") || text.contains("SYSCALL") || text.contains("unexpected eof"))
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
                CURLE_SSL_PINNEDPUBKEYNOTMATCH:
                failure(.tls, "the server's certificate is not trusted", retry: false)
            case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND,
                CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CRL_BADFILE, CURLE_USE_SSL_FAILED:
                failure(.tls, "TLS cannot be used", retry: false)
            case CURLE_PARTIAL_FILE: failure(.cut, "the connection ended before the body did", retry: true)
            case CURLE_RECV_ERROR where text.contains("chunked"),
                CURLE_BAD_FUNCTION_ARGUMENT where text.contains("chunked"):
                failure(.protocolViolation, "the chunked coding is broken", retry: true)
            case CURLE_RECV_ERROR where text.contains("CONNECT"):
                // The proxy responded to CONNECT with an error status. A 4xx, such as 407, would be repeated.
                failure(.connect, "the proxy refuses", retry: !text.contains("response 4"))
            case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM,
                CURLE_SSL_SHUTDOWN_FAILED, CURLE_AGAIN, CURLE_SEND_FAIL_REWIND:
                failure(hasHead ? .cut : .connect, "the connection broke", retry: true)
            case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, clibcurl_too_large:
                failure(.protocolViolation, "the answer is not proper HTTP", retry: false)
            case CURLE_OUT_OF_MEMORY where !hasHead:
                // A header line beyond libcurl's 100 KiB is reported as this.
                failure(.protocolViolation, "a line of the response head has no end", retry: false)
            default: failure(.libcurl, "libcurl failed (\(result.rawValue))", retry: false)
            }
        self.init(code: code, message: message, isRetryable: isRetryable)
        isWithoutConnection = result == CURLE_COULDNT_CONNECT || result == CURLE_OPERATION_TIMEDOUT
    }
}
