import Testing

@testable import WorkerProcesses

struct WorkerHelperTests {
    @Test(arguments: [
        ("/bin/true", "the helper ended at its start"),
        ("/nowhere/program", "/nowhere/program: No such file or directory"),
    ])
    func `a program that is not a helper is recognised by its exit, without a time-out`(
        program: String, problem: String
    ) {
        let failure = #expect(throws: WorkerFailure.self) { try WorkerHelper(program) }
        guard case .unavailable(let reason)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(reason == problem)
    }
}
