import Glibc

/// A failure of the store: its kind, its reason, and the path.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. New codes may be added.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case full, held, tooLarge, notWritable, damaged, busy, incomplete, altered, wrongLength, taken, exists
            case invalidCapacity, foreign, newer, absent, closed, outdated, io
        }

        private let kind: Kind
        private init(_ kind: Kind) { self.kind = kind }

        /// Neither the capacity nor the disk has space, and nothing can be evicted.
        package static let full = Code(.full)
        /// The capacity is exhausted by bodies that running processes hold or download.
        package static let held = Code(.held)
        /// The body is larger than the store's whole capacity.
        package static let tooLarge = Code(.tooLarge)
        /// The directory cannot be created or written.
        package static let notWritable = Code(.notWritable)
        /// The index is damaged and could not be rebuilt.
        package static let damaged = Code(.damaged)
        /// Another process held the index for longer than 10 seconds.
        package static let busy = Code(.busy)
        /// A body cannot be committed, because bytes of it are missing.
        package static let incomplete = Code(.incomplete)
        /// A partial's bytes were modified on disk after they had been received. The intact blocks are kept, to be
        /// continued.
        package static let altered = Code(.altered)
        /// More bytes were written than the announced total.
        package static let wrongLength = Code(.wrongLength)
        /// The partial was deleted or taken over by another process.
        package static let taken = Code(.taken)
        /// The file to export to exists.
        package static let exists = Code(.exists)
        /// The configured capacity is below the minimum of 1 MiB.
        package static let invalidCapacity = Code(.invalidCapacity)
        /// The folder is not empty and not a cache of imgcache; nothing in it was changed.
        package static let foreign = Code(.foreign)
        /// The index was made by a newer version; nothing was changed.
        package static let newer = Code(.newer)
        /// There is no cache, and ``StoreConfiguration/createsDirectory`` forbids creating one.
        package static let absent = Code(.absent)
        /// The store was closed.
        package static let closed = Code(.closed)
        /// The resource was invalidated, or its entries changed, after the body's ``Generation`` was read.
        package static let outdated = Code(.outdated)
        /// Any other failure of the file system or of SQLite.
        package static let io = Code(.io)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// The failed operation and the reason, in words.
    package let message: String
    /// The file or folder concerned.
    package let path: String?
    /// The system's error number, if the failure came from a system call.
    package let errno: Int32?
    /// The bytes that found no room.
    package internal(set) var bytesNeeded: Int64?
    /// True for ``Code/full`` if it is the store's capacity that is exhausted, and not the disk.
    package internal(set) var isAtCapacity = false

    package init(_ code: Code, _ message: String, path: String? = nil, errno: Int32? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.errno = errno
    }

    /// True if the body finds no room now. The disk, the capacity or what is held in it may be the reason.
    var isLackOfRoom: Bool { code == .full || code == .held }

    /// True if there are no more descriptors, or no memory: nothing is known about the file.
    var isOfResources: Bool { errno == EMFILE || errno == ENFILE || errno == ENOMEM }

    /// The error with the bytes that found no room.
    func needing(_ bytes: Int64) -> StoreError {
        var error = self
        error.bytesNeeded = bytes
        return error
    }

    package var description: String {
        var text = message
        // The message already starts with the path.
        if let path, message.hasPrefix("\(path): ") { return text }
        if let path { text += ": \(path)" }
        if let errno, let reason = strerror(errno) { text += " (\(String(cString: reason)))" }
        return text
    }

    /// An error for a failed system call. Must be created directly after the call, before `errno` can change.
    static func system(_ action: String, path: String?, errno number: Int32 = Glibc.errno) -> StoreError {
        switch number {
        case ENOSPC, EDQUOT: StoreError(.full, action, path: path, errno: number)
        case EACCES, EROFS, EPERM: StoreError(.notWritable, action, path: path, errno: number)
        default: StoreError(.io, action, path: path, errno: number)
        }
    }
}
