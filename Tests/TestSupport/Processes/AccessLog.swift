import Foundation

/// The access log of a real server, a line for each request.
struct AccessLog {
    let path: String

    /// Its lines, as soon as there are so many, or in the end: a server answers first, and writes afterwards.
    func lines(atLeast count: Int) async throws -> [String] {
        let deadline = ContinuousClock.now + .seconds(patience)
        while true {
            let isLate = ContinuousClock.now > deadline
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            // The part after the last line feed is incomplete.
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
            if lines.count >= count || isLate { return lines }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
