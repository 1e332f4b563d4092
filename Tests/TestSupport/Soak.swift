import Foundation

/// The long forms of tests, which `scripts/soak` runs.
public enum Soak {
    /// Whether everything is to be tried where else a sample is: `IMGCACHE_SOAK=1`.
    public static let isOn = ProcessInfo.processInfo.environment["IMGCACHE_SOAK"] == "1"

    /// How often something is done: as the environment's variable says, else `usual`.
    public static func count(_ variable: String, usual: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? usual
    }
}
