/// Appends entries to the log of a fleet. It needs only uploads that fail if the object exists.
package struct RemoteLog: Sendable {
    /// The number of other machines' entries after the log head's position that an append skips before it fails.
    private static let maxAttempts = 256

    private let tier: any RemoteTier
    private let honoursConditions: Bool

    /// - Parameter honoursConditions: False for a store that ignores conditions and replaces objects. Each entry is then read before and
    ///   after it is written. If two machines write the same entry at the same moment, the first one is still lost.
    package init(_ tier: any RemoteTier, honoursConditions: Bool) {
        self.tier = tier
        self.honoursConditions = honoursConditions
    }

    /// Makes the log head for a position from the former log head and the entries after it, in their order. The content of a damaged entry is nil.
    package typealias Summarizing =
        @Sendable (
            _ former: LogHead, _ entries: [(position: RemoteLogPosition, content: [UInt8]?)]
        ) -> LogHead

    /// Stores an entry under the first free number, then updates the log head.
    ///
    /// - Parameters:
    ///   - content: The entry, which must be unique.
    ///   - summarize: Makes the log head for the entry's position.
    /// - Returns: The log head at the entry's position.
    @discardableResult
    package func append(
        _ content: [UInt8], summarizing summarize: Summarizing
    ) async throws(RemoteError) -> LogHead {
        let former = try await lastKnown()
        var position = former.position
        var entries: [(position: RemoteLogPosition, content: [UInt8]?)] = []
        for _ in 0..<Self.maxAttempts {
            position.entry += 1
            guard try await put(content, at: position.name) else {
                entries.append((position, try await self.content(at: position)))
                continue
            }
            entries.append((position, content))
            let logHead = summarize(former, entries)
            _ = try await tier.put(logHead.encoded(), at: LogHead.name, .none)
            return logHead
        }
        throw .status(409, code: nil)
    }

    /// The content of another machine's entry, or nil if it is damaged.
    private func content(at position: RemoteLogPosition) async throws(RemoteError) -> [UInt8]? {
        do throws(RemoteError) { return try await tier.read(position.name, unless: nil).bytes } catch .damaged {
            return nil
        }
    }

    /// Reads the log head, or begins a new log if there is none.
    private func lastKnown() async throws(RemoteError) -> LogHead {
        var bytes: [UInt8]? = []
        do throws(RemoteError) { bytes = try await tier.read(LogHead.name, unless: nil).bytes } catch .damaged {}
        if let logHead = bytes.flatMap({ LogHead($0) }) { return logHead }
        // If the bytes are not a log head, the summary of the former log is lost.
        let beginning = LogHead(.beginning(), summary: bytes == nil ? [] : nil)
        if try await tier.put(beginning.encoded(), at: LogHead.name, bytes == nil ? .ifAbsent : .none) {
            return beginning
        }
        let others = try await tier.read(LogHead.name, unless: nil).bytes
        return others.flatMap { LogHead($0) } ?? beginning
    }

    private func put(_ content: [UInt8], at name: String) async throws(RemoteError) -> Bool {
        guard !honoursConditions else { return try await tier.put(content, at: name, .ifAbsent) }
        guard try await tier.read(name, unless: nil).content == .absent else { return false }
        _ = try await tier.put(content, at: name, .ifAbsent)
        return try await tier.read(name, unless: nil).bytes == content
    }
}
