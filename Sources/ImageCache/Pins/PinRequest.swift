import DiskStore
import FoundationEssentials
import HTTPCaching
import HTTPTypes

/// The part of a pinned request that is saved in the index, so that another process can resume it. Contains no credentials.
struct PinRequest: Codable {
    var url: String
    var owner: String?
    var accept: String?
    var key: String?
    var sha256: String?
    var size: Int64?

    private init(_ request: FileRequest) {
        url = request.urlWithoutUserinfo
        owner = request.owner
        accept = request.fields[.accept]
        key = request.key
        sha256 = request.expectedDigest.flatMap { $0.algorithm == .sha256 ? $0.hexadecimal : nil }
        size = request.integrity.size
    }

    /// The pin of a request.
    static func pin(for request: FileRequest, by rules: CacheRules) throws(ImageCacheError) -> NewPin {
        let resolved = try ResolvedRequest(request, by: rules)
        guard let bytes = try? JSONEncoder().encode(PinRequest(request)) else {
            throw ImageCacheError(.invalidRequest, url: resolved.url, message: "the request cannot be kept")
        }
        return NewPin(
            key: resolved.key, url: resolved.url, request: Array(bytes), size: request.integrity.size)
    }

    /// The request of a member; `nil` if it needs credentials, which are not saved.
    static func request(of member: PinMember, by rules: CacheRules) -> FileRequest? {
        guard let pinned = try? JSONDecoder().decode(PinRequest.self, from: Data(member.request)) else { return nil }
        var request = FileRequest(pinned.url)
        request.owner = pinned.owner
        request.key = pinned.key
        request.sha256 = pinned.sha256
        request.integrity.size = pinned.size
        if let accept = pinned.accept { request.fields[.accept] = accept }
        guard let resolved = try? ResolvedRequest(request, by: rules), resolved.key == member.key else { return nil }
        return request
    }
}
