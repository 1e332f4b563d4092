/// Finds out if a store may be used, and if it honours the condition of an upload.
package struct RemoteProbe: Sendable {
    /// The store's way with `If-None-Match: *` on a PUT.
    package enum Outcome: Sendable, Hashable {
        /// The second of two uploads is refused.
        case honoursConditions
        /// Both are accepted, or the field is not implemented.
        case ignoresConditions
    }

    private let tier: any RemoteTier
    private let key: String

    /// - Parameter number: A random number, which names an object that nobody else has.
    package init(_ tier: any RemoteTier, number: UInt64 = .random(in: 0 ... .max)) {
        self.tier = tier
        key = "v1/probe/\(String(number, radix: 16))"
    }

    /// Stores a small object twice under the condition that there is none, and deletes it.
    ///
    /// - Throws: The failure of either upload, such as a refusal of the credentials.
    package func outcome() async throws(RemoteError) -> Outcome {
        do throws(RemoteError) {
            // A store that says at once that the new name is taken looks at the condition, too.
            guard try await put() else { return .honoursConditions }
        } catch .status(501, _) {
            return .ignoresConditions
        }
        let isStoredTwice: Bool
        do throws(RemoteError) { isStoredTwice = try await put() } catch {
            try? await tier.delete(key)
            throw error
        }
        try? await tier.delete(key)
        return isStoredTwice ? .ignoresConditions : .honoursConditions
    }

    private func put() async throws(RemoteError) -> Bool { try await tier.put(Array(key.utf8), at: key, .ifAbsent) }
}
