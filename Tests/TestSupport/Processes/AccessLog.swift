import Foundation

/// What a real server writes of its requests, a line each.
struct AccessLog {
    let path: String

    /// Its lines, as soon as there are so many, or after a minute: a server answers first, and writes afterwards.
    func lines(atLeast count: Int) async throws -> [String] {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let isLate = ContinuousClock.now > deadline
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            // What stands after the last line feed is being written.
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
            if lines.count >= count || isLate { return lines }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
