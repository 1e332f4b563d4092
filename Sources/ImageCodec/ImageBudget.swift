internal import CImageCodec

/// The cost of one image, from its file to the file that is rendered from it: the sizes, the memory and the CPU time of
/// ``DecodingLimits`` hold for decoding, resizing, effects and encoding together.
///
/// A budget belongs to one image and is used by one thread at a time. Every operation that is given the same budget draws on it, and
/// fails with `limitExceeded` when nothing is left, with `cancelled` once ``cancellation`` is cancelled.
public final class ImageBudget {
    public let limits: DecodingLimits
    /// Stops the work while it runs; nil: nothing does.
    public let cancellation: ImageCancellation?
    /// Seconds of CPU time that the work took so far.
    public private(set) var spent = 0.0
    private var accountingStart: (time: Double, spent: Double)?

    public init(limits: DecodingLimits = DecodingLimits(), cancellation: ImageCancellation? = nil) {
        self.limits = limits
        self.cancellation = cancellation
    }

    /// A budget without limits, for pixels that are the application's own.
    public static var unlimited: ImageBudget { ImageBudget(limits: .unlimited) }

    var remaining: Double { limits.seconds - spent }

    /// Adds CPU time that this image has a part in.
    func charge(_ seconds: Double) { spent += seconds }

    /// Runs a part of the work and adds the time that it takes. Not to be nested.
    func measured<Result>(
        _ work: (inout icodec_watch) throws(ImageCodecError) -> Result
    ) throws(ImageCodecError) -> Result {
        let start = icodec_cpu_seconds()
        var watch = icodec_watch(deadline: start + remaining, stop: cancellation?.cFlag)
        defer {
            spent += icodec_cpu_seconds() - start
            withExtendedLifetime(cancellation) {}
        }
        try watch.check()
        return try work(&watch)
    }

    /// Runs a function of the C target that may be ended by the watch.
    func measured(
        _ format: ImageFormat? = nil, _ work: (inout icodec_watch, inout icodec_error) -> Bool
    ) throws(ImageCodecError) {
        try measured { (watch) throws(ImageCodecError) in
            var error = icodec_error()
            guard work(&watch, &error) else { throw ImageCodecError(error, format: format) }
        }
    }

    /// Checks that the image may cost more time: for work of an application's own, every few milliseconds.
    ///
    /// - Throws: `limitExceeded` when the time is over, `cancelled` when nobody waits for the image any more.
    public func check() throws(ImageCodecError) {
        defer { withExtendedLifetime(cancellation) {} }
        var watch = icodec_watch(deadline: icodec_cpu_seconds() + remaining - unaccounted, stop: cancellation?.cFlag)
        try watch.check()
    }

    /// Seconds of ``accounting(_:)`` under way that are not yet part of ``spent``.
    private var unaccounted: Double { accountingStart.map { icodec_cpu_seconds() - $0.time - (spent - $0.spent) } ?? 0 }

    /// Runs work of an application, which may itself draw on the budget, and adds the time that it takes beside.
    package func accounting<Result>(
        _ work: () throws(ImageCodecError) -> Result
    ) throws(ImageCodecError) -> Result {
        accountingStart = (icodec_cpu_seconds(), spent)
        defer {
            spent += max(0, unaccounted)
            accountingStart = nil
        }
        let result = try work()
        try check()
        return result
    }

    /// - Throws: `limitExceeded` when an image is larger than allowed.
    package func check(_ image: DecodedImage) throws(ImageCodecError) {
        try limits.check(ResizePlan.Size(width: image.width, height: image.height), format: nil)
    }

    /// - Throws: `limitExceeded` when so many bytes at a time are more than allowed.
    func check(memory needed: Int, format: ImageFormat? = nil) throws(ImageCodecError) {
        try limits.check(memory: needed, format: format)
    }
}

/// Stops work on an image from any thread: nobody wants the result any more.
///
/// `@unchecked Sendable`: the flag is written and read by atomic operations only, and has an address of its own.
public final class ImageCancellation: @unchecked Sendable {
    private let flag: UnsafeMutablePointer<Int32>

    /// Valid as long as this object.
    var cFlag: UnsafeMutablePointer<Int32> { flag }

    public init() {
        flag = .allocate(capacity: 1)
        flag.initialize(to: 0)
    }

    deinit { flag.deallocate() }

    /// Work that runs ends within a few milliseconds of CPU time, with the error `cancelled`.
    public func cancel() { icodec_stop(flag) }

    /// Cancels once the work has looked so many times more whether it is cancelled: for tests.
    func cancel(afterLooks looks: Int32) { icodec_stop_after(flag, looks) }

    public var isCancelled: Bool {
        var error = icodec_error()
        var watch = icodec_watch(deadline: .infinity, stop: flag)
        return !icodec_watch_allows(&watch, &error)
    }
}

extension icodec_watch {
    /// Pixels that Swift code works on between two looks at the watch.
    static let step = 1 << 16

    /// - Throws: `limitExceeded` when the time is over, `cancelled` when nobody wants the result.
    mutating func check() throws(ImageCodecError) {
        var error = icodec_error()
        guard icodec_watch_allows(&self, &error) else { throw ImageCodecError(error, format: nil) }
    }
}
