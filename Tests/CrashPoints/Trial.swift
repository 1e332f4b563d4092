import Foundation
import Glibc

/// A series of disturbed scenarios, each in its own directory, which are counted.
class Trial {
    let options: Options
    let page: SharedPage
    let folder: String
    private let began = ContinuousClock.now
    private var wrong = 0

    init(_ options: Options) throws {
        self.options = options
        page = try SharedPage()
        folder = "\(options.directory)/crash-points-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func fails(_ point: Int, _ name: String, _ problem: String) {
        wrong += 1
        say("point \(point), \(name): \(problem)")
    }

    /// Says how it went.
    ///
    /// - Returns: the exit code.
    func report(_ mode: String, _ count: Int, of all: Int) -> Int32 {
        let seconds = (ContinuousClock.now - began).components.seconds
        say("\(mode): \(count) of \(all) points, \(wrong) wrong, \(seconds) s, seed \(options.seed)")
        return wrong == 0 ? 0 : 1
    }
}
