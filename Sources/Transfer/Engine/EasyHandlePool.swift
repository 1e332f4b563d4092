import CLibcurl
import Glibc

/// One libcurl easy handle and the buffer for its error text.
final class EasyHandle {
    let easy: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var hasCookies = false

    fileprivate init?() {
        guard let easy = clibcurl_easy_init() else { return nil }
        self.easy = easy
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        clibcurl_easy_cleanup(easy)
        errorText.deallocate()
    }

    /// libcurl's message about the last failure; empty if there is none.
    var lastError: String { String(cString: errorText) }

    func set(_ option: CURLoption, _ value: Int) { clibcurl_setopt_long(easy, option, value) }
    func set(_ option: CURLoption, _ value: Bool) { clibcurl_setopt_long(easy, option, value ? 1 : 0) }
    func set(_ option: CURLoption, _ value: String?) -> CURLcode { clibcurl_setopt_string(easy, option, value) }
    func set(_ option: CURLoption, offset: Int64) { clibcurl_setopt_offset(easy, option, curl_off_t(offset)) }
    func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) { clibcurl_setopt_pointer(easy, option, pointer) }

    /// Sends the cookies of a file, or the ``cookies`` of an earlier request. Until the handle is reused, also sends cookies that responses set.
    func useCookies(of path: String, after earlier: [String]?) {
        hasCookies = true
        guard let earlier else { return _ = set(CURLOPT_COOKIEFILE, path) }
        // An empty name turns the cookies on.
        _ = set(CURLOPT_COOKIEFILE, "")
        for cookie in earlier { _ = set(CURLOPT_COOKIELIST, cookie) }
    }

    /// The cookies in Netscape's format, a line each.
    var cookies: [String] {
        var list: UnsafeMutableRawPointer?
        clibcurl_getinfo_pointer(easy, CURLINFO_COOKIELIST, &list)
        let first = list?.assumingMemoryBound(to: curl_slist.self)
        defer { clibcurl_slist_free(first) }
        var cookies: [String] = []
        var item = first
        while let current = item {
            if let data = current.pointee.data { cookies.append(String(cString: data)) }
            item = current.pointee.next
        }
        return cookies
    }

    /// The status of the response that libcurl itself reads.
    var responseCode: Int { number(CURLINFO_RESPONSE_CODE) }

    func number(_ info: CURLINFO) -> Int {
        var value = 0
        clibcurl_getinfo_long(easy, info, &value)
        return value
    }

    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        clibcurl_getinfo_offset(easy, info, &value)
        return Int64(value)
    }

    fileprivate func forget() {
        clibcurl_easy_reset(easy)
        // A reset keeps the cookies.
        if hasCookies { _ = set(CURLOPT_COOKIELIST, "ALL") }
        hasCookies = false
        errorText[0] = 0
        clibcurl_setopt_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
    }
}

/// Idle handles, and the DNS and TLS session caches that all handles share. The multi handle shares the connections.
final class EasyHandlePool {
    private var idle: [EasyHandle] = []
    private var share: UnsafeMutableRawPointer?
    private let connections: ConnectionOptions
    /// ``ConnectionOptions/hostAddresses`` in libcurl's format.
    private var hostAddresses: UnsafeMutablePointer<curl_slist>?

    init(_ connections: ConnectionOptions) {
        self.connections = connections
        for text in connections.hostAddresses { hostAddresses = clibcurl_slist_append(hostAddresses, text) }
        share = clibcurl_share_init()
        guard let share else { return }
        clibcurl_share_data(share, CURL_LOCK_DATA_DNS)
        clibcurl_share_data(share, CURL_LOCK_DATA_SSL_SESSION)
    }

    func take() -> EasyHandle? {
        guard let handle = idle.popLast() ?? EasyHandle() else { return nil }
        handle.forget()
        handle.set(CURLOPT_SHARE, pointer: share)
        switch connections.addressFamily {
        case .any: break
        case .ipv4: handle.set(CURLOPT_IPRESOLVE, clibcurl_ipv4)
        case .ipv6: handle.set(CURLOPT_IPRESOLVE, clibcurl_ipv6)
        }
        if let interface = connections.interface { _ = handle.set(CURLOPT_INTERFACE, interface) }
        if let hostAddresses { clibcurl_setopt_list(handle.easy, CURLOPT_RESOLVE, hostAddresses) }
        return handle
    }

    func putBack(_ handle: EasyHandle) { idle.append(handle) }

    func removeAll() { idle.removeAll() }

    /// Must be called after the last handle was freed.
    func freeShare() {
        clibcurl_slist_free(hostAddresses)
        hostAddresses = nil
        if let share { clibcurl_share_cleanup(share) }
        share = nil
    }
}
