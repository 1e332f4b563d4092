/// Appends to the log of a fleet, with nothing but uploads under the condition that there is no object.
package struct RemoteLog: Sendable {
    /// Entries of others that an append passes over, beyond the bell's.
    private static let maxAttempts = 256

    private let tier: any RemoteTier
    private let honoursConditions: Bool

    /// - Parameter honoursConditions: False for a store that replaces objects whatever the condition: each entry is read before and after
    ///   it is written, which leaves a moment in which two machines write the same one, and the first is lost.
    package init(_ tier: any RemoteTier, honoursConditions: Bool) {
        self.tier = tier
        self.honoursConditions = honoursConditions
    }

    /// The bell for a position: from the one before, and the entries between both in their order. The content of one that is damaged is nil.
    package typealias Summarizing =
        @Sendable (
            _ former: RemoteBell, _ entries: [(position: RemoteLogPosition, content: [UInt8]?)]
        ) -> RemoteBell

    /// Stores an entry under the first free number, then rings the bell.
    ///
    /// - Parameters:
    ///   - content: Never the same twice.
    ///   - summarize: Makes the bell of the entry's position.
    /// - Returns: The bell at the entry's position.
    @discardableResult
    package func append(
        _ content: [UInt8], summarizing summarize: Summarizing
    ) async throws(RemoteError) -> RemoteBell {
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
            let bell = summarize(former, entries)
            _ = try await tier.put(bell.encoded(), at: RemoteBell.name, .none)
            return bell
        }
        throw .status(409, code: nil)
    }

    /// An entry of another machine; nil: it is damaged.
    private func content(at position: RemoteLogPosition) async throws(RemoteError) -> [UInt8]? {
        do throws(RemoteError) { return try await tier.read(position.name, unless: nil).bytes } catch .damaged {
            return nil
        }
    }

    /// The bell; a log is begun where there is none.
    private func lastKnown() async throws(RemoteError) -> RemoteBell {
        var bytes: [UInt8]? = []
        do throws(RemoteError) { bytes = try await tier.read(RemoteBell.name, unless: nil).bytes } catch .damaged {}
        if let bell = bytes.flatMap({ RemoteBell($0) }) { return bell }
        // In place of bytes that are no bell: what the log before them said is not known any more.
        let beginning = RemoteBell(.beginning(), summary: bytes == nil ? [] : nil)
        if try await tier.put(beginning.encoded(), at: RemoteBell.name, bytes == nil ? .ifAbsent : .none) {
            return beginning
        }
        let others = try await tier.read(RemoteBell.name, unless: nil).bytes
        return others.flatMap { RemoteBell($0) } ?? beginning
    }

    private func put(_ content: [UInt8], at name: String) async throws(RemoteError) -> Bool {
        guard !honoursConditions else { return try await tier.put(content, at: name, .ifAbsent) }
        guard try await tier.read(name, unless: nil).content == .absent else { return false }
        _ = try await tier.put(content, at: name, .ifAbsent)
        return try await tier.read(name, unless: nil).bytes == content
    }
}
