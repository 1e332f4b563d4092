import Foundation

/// The long forms of tests, which `scripts/soak` runs.
public enum Soak {
    /// True to try everything instead of a sample: `IMGCACHE_SOAK=1`.
    public static let isOn = ProcessInfo.processInfo.environment["IMGCACHE_SOAK"] == "1"

    /// The number of repetitions: the environment variable's value, else `usual`.
    public static func count(_ variable: String, usual: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? usual
    }

    /// Prints how far a long form is, each time that another 500 are done.
    public static func report(_ done: Int, after before: Int, of wanted: Int, _ what: String) {
        guard done / 500 > before / 500 else { return }
        print("\(what): \(done) of \(wanted)")
        fflush(nil)
    }
}
