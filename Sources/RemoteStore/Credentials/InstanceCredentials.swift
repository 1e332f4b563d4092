import ConcurrencyPrimitives
import FoundationEssentials
import HTTPTypes
import Transfer

/// The credentials of an AWS instance's role, from the metadata service (IMDSv2). They are renewed before they expire.
///
/// Concurrent callers share one fetch. Credentials that are still valid are used if they cannot be renewed.
final class InstanceCredentials: Sendable {
    private typealias Outcome = Result<InstanceRole.Keys, RemoteError>

    private struct State {
        var keys: InstanceRole.Keys?
        var fetch: Task<Outcome, Never>?
    }

    /// The seconds before their expiry at which credentials are renewed.
    private static let margin: TimeInterval = 300

    private let role: InstanceRole
    private let now: @Sendable () -> Date
    private let state = Locked(State())

    init(_ role: InstanceRole, now: @escaping @Sendable () -> Date) {
        self.role = role
        self.now = now
    }

    /// Returns credentials that are currently valid.
    func credentials() async throws(RemoteError) -> S3Credentials {
        let now = now()
        let held = state.withLock { $0.keys }
        if let held, held.expiration.timeIntervalSince(now) > Self.margin { return held.credentials }
        do throws(RemoteError) { return try await fetched().credentials } catch {
            guard let held, held.expiration > now else { throw error }
            return held.credentials
        }
    }

    private func fetched() async throws(RemoteError) -> InstanceRole.Keys {
        let fetch = state.withLock { state in
            if let fetch = state.fetch { return fetch }
            let fetch = Task { await self.fetch() }
            state.fetch = fetch
            return fetch
        }
        return try await fetch.value.get()
    }

    private func fetch() async -> Outcome {
        let outcome: Outcome
        do throws(RemoteError) { outcome = .success(try await role.keys()) } catch { outcome = .failure(error) }
        state.withLock { state in
            if case .success(let keys) = outcome { state.keys = keys }
            state.fetch = nil
        }
        return outcome
    }
}
