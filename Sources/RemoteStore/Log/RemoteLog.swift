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

    /// Stores an entry under the first free number, then rings the bell.
    ///
    /// - Parameter content: Never the same twice.
    /// - Returns: The entry's position.
    package func append(_ content: [UInt8]) async throws(RemoteError) -> RemoteLogPosition {
        var position = try await lastKnown()
        for _ in 0..<Self.maxAttempts {
            position.entry += 1
            guard try await put(content, at: position.name) else { continue }
            _ = try await tier.put(position.bell(), at: RemoteLogPosition.bellName, .none)
            return position
        }
        throw .status(409, code: nil)
    }

    /// The bell's position; a log is begun where there is none.
    private func lastKnown() async throws(RemoteError) -> RemoteLogPosition {
        let name = RemoteLogPosition.bellName
        var bytes: [UInt8]? = []
        do throws(RemoteError) { bytes = try await tier.read(name, unless: nil).bytes } catch .damaged {}
        if let position = bytes.flatMap({ RemoteLogPosition(bell: $0) }) { return position }
        let beginning = RemoteLogPosition.beginning()
        // Bytes that are no bell are replaced.
        if try await tier.put(beginning.bell(), at: name, bytes == nil ? .ifAbsent : .none) { return beginning }
        let others = try await tier.read(name, unless: nil).bytes
        return others.flatMap { RemoteLogPosition(bell: $0) } ?? beginning
    }

    private func put(_ content: [UInt8], at name: String) async throws(RemoteError) -> Bool {
        guard !honoursConditions else { return try await tier.put(content, at: name, .ifAbsent) }
        guard try await tier.read(name, unless: nil).content == .absent else { return false }
        _ = try await tier.put(content, at: name, .ifAbsent)
        return try await tier.read(name, unless: nil).bytes == content
    }
}
