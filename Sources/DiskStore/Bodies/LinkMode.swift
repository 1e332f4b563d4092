/// The way in which a stored file gets a place outside of the store.
public enum LinkMode: String, Sendable, Hashable, CaseIterable {
    /// A file that shares the store's blocks until one of the two is changed (a reflink), where the file system has that; else a
    /// copy, made by the kernel.
    case clone
    /// A further name of the store's own file: no byte is copied, and no space is used. Like all files of the store, it is read-only. A
    /// program that nevertheless changes it changes the store's file; the next use detects that, drops the file and fetches it again. A
    /// clone is made instead on another file system, or if the store is not writable.
    case hardlink
    /// A symbolic link to the store's file, which eviction may take.
    case symlink
    /// A copy, byte by byte: nothing is shared with the store's file.
    case copy
}
