/// The way in which a stored file gets a place outside of the store.
public enum LinkMode: String, Sendable, Hashable, CaseIterable {
    /// A file that shares the store's blocks until one of the two is changed (a reflink), where the file system has that; else a
    /// copy, made by the kernel.
    case clone
    /// A further name of the store's own file: no byte is copied, and it takes no room of its own. It is read-only, as the store's
    /// files are. Whoever changes it all the same changes the store's file: the next use notices, drops it and fetches it again. Another
    /// file system, or a store that cannot be written, gets a clone.
    case hardlink
    /// A symbolic link to the store's file, which eviction may take.
    case symlink
    /// A copy, byte by byte: nothing is shared with the store's file.
    case copy
}
