/// Tests whether a store is usable, and whether it honours the condition of an upload.
package struct RemoteProbe: Sendable {
    /// The store's response to `If-None-Match: *` on a PUT.
    package enum Outcome: Sendable, Hashable {
        /// The store rejects the second of two uploads.
        case honoursConditions
        /// The store accepts both uploads, or does not implement the field.
        case ignoresConditions
    }

    private let tier: any RemoteTier
    private let key: String

    /// - Parameter number: A random number, which makes the object's key unique.
    package init(_ tier: any RemoteTier, number: UInt64 = .random(in: 0 ... .max)) {
        self.tier = tier
        key = "v1/probe/\(String(number, radix: 16))"
    }

    /// Uploads a small object twice on condition that it does not exist, and deletes it.
    ///
    /// - Throws: The failure of either upload, such as rejected credentials.
    package func outcome() async throws(RemoteError) -> Outcome {
        do throws(RemoteError) {
            // If the store reports that the new key exists, it evaluates the condition.
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
