public import Testing

/// See ``ProcessSlots``.
public struct FewAtATime: TestTrait, SuiteTrait, TestScoping {
    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await ProcessSlots.withTurn(function)
    }
}

extension Trait where Self == FewAtATime {
    /// At most four tests with this trait at a time.
    public static var fewAtATime: FewAtATime { FewAtATime() }
}
