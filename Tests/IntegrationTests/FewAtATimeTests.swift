import TestSupport
import Testing

@Suite(.timeLimit) struct FewAtATimeTests {
    @Test func `a test that does not end in its turn is cancelled, and an issue names it`() async throws {
        let test = try #require(Test.current)
        try await withKnownIssue {
            try await FewAtATime(limit: .milliseconds(1)).provideScope(for: test, testCase: .current) {
                try await Task.sleep(for: .seconds(86_400))
            }
        } matching: { issue in
            let isNamed = issue.comments.contains { $0.rawValue.hasPrefix("\(test.name) did not end within ") }
            return isNamed || issue.error is CancellationError
        }
    }
}
