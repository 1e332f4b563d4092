import Testing

@testable import WorkerProcesses

struct WorkerHelperTests {
    @Test(arguments: [
        ("/bin/true", "the helper ended at its start"),
        ("/nowhere/program", "/nowhere/program: No such file or directory"),
    ])
    func `a program that is no helper is known by its end, and not by the time that passes`(
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
