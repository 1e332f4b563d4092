import ConcurrencyPrimitives
import DownloadLists
import ImageCache

/// Requests the lengths of files that are not yet being downloaded by HEAD, a few at a time, so that the progress display has a total.
///
/// It starts after a delay, because a short run does not need a total.
final class SizeProbe: Sendable {
    private static let delay = Duration.seconds(3)
    static let width = 2

    private let size: @Sendable (ListedDownload) async -> Int64?
    private let display: ProgressDisplay
    private let tasks = Locked<[Task<Void, Never>]>([])

    /// - Parameter size: The length of a download's file, or `nil`.
    init(_ size: @escaping @Sendable (ListedDownload) async -> Int64?, _ display: ProgressDisplay) {
        self.size = size
        self.display = display
    }

    /// Probes the inputs from last to first. Downloads start at the other end, and files that they reach first need no probe.
    func start(_ inputs: WorkQueue<FetchInput>) {
        let next = Locked<Int?>(nil)
        let tasks = (0..<Self.width).map { _ in
            Task { [self] in
                repeat { try? await Task.sleep(for: Self.delay) } while !inputs.count.isComplete && !Task.isCancelled
                while !Task.isCancelled {
                    let place = next.withLock { next in
                        let place = (next ?? inputs.count.count) - 1
                        next = place
                        return place
                    }
                    guard place >= 0 else { return }
                    guard case .download(let download) = inputs[place], !display.knows(place) else { continue }
                    if let size = await size(download) { display.expect(place, size: size) }
                }
            }
        }
        self.tasks.withLock { $0 = tasks }
    }

    func stop() { for task in tasks.withLock({ $0 }) { task.cancel() } }
}
