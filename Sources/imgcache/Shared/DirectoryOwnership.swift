import Glibc

/// The owner and the permissions of a cache directory, from which a user may get files that another user has put there.
struct DirectoryOwnership {
    let owner: uid_t
    let mode: mode_t

    init(owner: uid_t, mode: mode_t) {
        self.owner = owner
        self.mode = mode
    }

    /// `nil` if there is nothing at the path.
    init?(of directory: String) {
        var status = stat()
        guard stat(directory, &status) == 0 else { return nil }
        self.init(owner: status.st_uid, mode: status.st_mode)
    }

    /// The reason why others decide about the files in the directory; `nil` if only this user and root do. A group may share a cache.
    func concern(for user: uid_t) -> String? {
        // Root uses the directories of others on purpose, and root's own directories are trusted.
        if user != 0, owner != user, owner != 0 {
            return "the cache belongs to user \(owner), who decides what is in it; use a directory of your own"
        }
        return mode & S_IWOTH != 0 ? "everyone can write into the cache; chmod 700 it" : nil
    }

    /// Warns of a directory that others can change, as the files in it may be theirs.
    static func warn(of directory: String) {
        guard let concern = DirectoryOwnership(of: directory)?.concern(for: geteuid()) else { return }
        Output.warning("\(directory): \(concern)")
    }
}
