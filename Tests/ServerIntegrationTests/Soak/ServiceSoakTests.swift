import Foundation
import TestSupport
import Testing

/// The service with everything at once, as `Soak/service_soak.py` drives it: for a few seconds, or for `IMGCACHE_SOAK_MINUTES`.
/// With `IMGCACHE_SOAK_OUTPUT`, a folder, memory and descriptors over time are left there as `service.csv` and `service.svg`.
@Suite(.fewAtATime(limit: .seconds(300))) struct ServiceSoakTests {
    @Test func `under a mixed load, no response is wrong, and nothing is held forever`() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["IMGCACHE_SOAK_MINUTES"].flatMap { Double($0) }.map { $0 * 60 } ?? 12
        let script = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("service_soak.py")
        var arguments = [script.path, ServerProcess.executable, "--seconds", "\(seconds)"]
        if let folder = environment["IMGCACHE_SOAK_OUTPUT"] {
            arguments += ["--csv", "\(folder)/service.csv", "--svg", "\(folder)/service.svg"]
        }
        if let seed = environment["IMGCACHE_TEST_SEED"] { arguments += ["--seed", seed] }
        let process = try ChildProcess(
            "python3", arguments, environment: environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 })
        let ending = await process.end(within: seconds + 240)
        print(process.output, terminator: "")
        #expect(ending == .exited(0), "\(process.output)\n\(process.errorOutput)")
    }
}
