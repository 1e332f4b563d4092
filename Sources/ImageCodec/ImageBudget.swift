internal import CImageCodec

/// The resources of one image from its file to the encoded result, and their use: the sizes, the memory and the CPU
/// time of ``DecodingLimits`` apply to decoding, resizing, effects and encoding together.
///
/// A budget belongs to one image and is used by one thread at a time. All operations with the same budget share it, and
/// fail with `limitExceeded` when it is used up, with `cancelled` once ``cancellation`` is cancelled.
public final class ImageBudget {
    public let limits: DecodingLimits
    /// Stops running work; nil: not cancellable.
    public let cancellation: ImageCancellation?
    /// The CPU time used so far, in seconds.
    public private(set) var spent = 0.0
    /// The part of it that was spent on the decode, which outputs of one file may share.
    package private(set) var decoding = 0.0
    private var accountingStart: (time: Double, spent: Double)?

    public init(limits: DecodingLimits = DecodingLimits(), cancellation: ImageCancellation? = nil) {
        self.limits = limits
        self.cancellation = cancellation
    }

    /// A budget without limits, for the application's own pixels.
    public static var unlimited: ImageBudget { ImageBudget(limits: .unlimited) }

    var remaining: Double { limits.seconds - spent }

    /// Adds CPU time of the decode to this image's.
    package func charge(_ seconds: Double) {
        spent += seconds
        decoding += seconds
    }

    /// Runs parts of the work (``measured(_:)``) that are a decode.
    func decoding<Result>(_ work: () throws(ImageCodecError) -> Result) throws(ImageCodecError) -> Result {
        let before = spent
        defer { decoding += spent - before }
        return try work()
    }

    /// Runs a part of the work and adds its CPU time. Must not be nested.
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

    /// Runs a function of the C target that the watch may stop.
    func measured(
        _ format: ImageFormat? = nil, _ work: (inout icodec_watch, inout icodec_error) -> Bool
    ) throws(ImageCodecError) {
        try measured { (watch) throws(ImageCodecError) in
            var error = icodec_error()
            guard work(&watch, &error) else { throw ImageCodecError(error, format: format) }
        }
    }

    /// Checks that the image may use more time. An application's own work calls it every few milliseconds.
    ///
    /// - Throws: `limitExceeded` when the time limit is reached, `cancelled` when no request waits for the image any more.
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

    /// - Throws: `limitExceeded` if an image is too large.
    package func check(_ image: DecodedImage) throws(ImageCodecError) {
        try limits.check(ResizePlan.Size(width: image.width, height: image.height), format: nil)
    }

    /// - Throws: `limitExceeded` if this many bytes at a time exceed the limit.
    package func check(memory needed: Int, format: ImageFormat? = nil) throws(ImageCodecError) {
        try limits.check(memory: needed, format: format)
    }
}

/// Cancels work on an image, from any thread.
///
/// `@unchecked Sendable`: the flag is accessed by atomic operations only, and has a stable address.
public final class ImageCancellation: @unchecked Sendable {
    private let flag: UnsafeMutablePointer<Int32>

    /// Valid during the lifetime of this object.
    var cFlag: UnsafeMutablePointer<Int32> { flag }

    public init() {
        flag = .allocate(capacity: 1)
        flag.initialize(to: 0)
    }

    deinit { flag.deallocate() }

    /// Stops running work within a few milliseconds of CPU time, with the error `cancelled`.
    public func cancel() { icodec_stop(flag) }

    /// Cancels after the given number of checks for cancellation: for tests.
    func cancel(afterChecks checks: Int32) { icodec_stop_after(flag, checks) }

    public var isCancelled: Bool {
        var error = icodec_error()
        var watch = icodec_watch(deadline: .infinity, stop: flag)
        return !icodec_watch_allows(&watch, &error)
    }
}

extension icodec_watch {
    /// The number of pixels that Swift code processes between two checks of the watch.
    static let step = 1 << 16

    /// - Throws: `limitExceeded` if the time is used up, `cancelled` after a cancellation.
    mutating func check() throws(ImageCodecError) {
        var error = icodec_error()
        guard icodec_watch_allows(&self, &error) else { throw ImageCodecError(error, format: nil) }
    }
}
