import ImageCache

extension FileRequest {
    /// A request that waits long for an origin, or for another fetch of the URL, because the machine may be busy: with the default stall time-out it
    /// asks the origin itself after half a minute.
    static func patient(_ url: String) -> FileRequest {
        var request = FileRequest(url)
        request.transfer.stallTimeout = .seconds(600)
        return request
    }
}
