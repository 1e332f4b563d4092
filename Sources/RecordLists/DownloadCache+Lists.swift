import ConcurrencyPrimitives
import DiskStore
public import ImageCache

extension DownloadCache {
    /// A handle to a list of records by its name. Creating it neither reads the store nor contacts the server.
    ///
    /// Lists with the same name but different owners or groups are independent.
    ///
    /// - Parameters:
    ///   - name: The list's name.
    ///   - group: A group of lists, such as an account, that can be removed together.
    ///   - owner: The list's owner, which is also the owner of the source's requests unless they name one.
    ///   - source: The list's source on a server; `nil` for a list that is only read.
    /// - Throws: `ImageCacheError` with code `invalidRequest` for an empty name.
    public func list(
        _ name: String, group: String? = nil, owner: String? = nil, source: JSONListSource? = nil
    ) throws(ImageCacheError) -> RecordList {
        guard !name.isEmpty else { throw ImageCacheError(.invalidRequest, message: "a list needs a name") }
        return RecordList(
            cache: self, listName: ListName(owner: owner ?? "", group: group ?? "", name: name), source: source)
    }

    /// Removes the lists of a group with their records, and unpins their files.
    public func removeLists(inGroup group: String, owner: String? = nil) async throws(ImageCacheError) {
        try await executor.run { [self] () throws(ImageCacheError) in
            try blocking.translating { try blocking.store.removeLists(owner: owner ?? "", group: group) }
        }
    }
}
