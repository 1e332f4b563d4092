import ImageCodec
import WorkerProcesses

/// Decodes images in worker processes, so that a file that crashes a codec does not affect anything else.
///
///     configuration.decoderIsolation = DecoderIsolation(helper: "/usr/bin/imgcache")
///
/// Workers decode, resize, apply effects and encode. They cannot open files or sockets or gain privileges, and are killed at their limits
/// of memory and CPU time. A file that crashes a worker fails with ``ImageCodecError/Code/crashed``, and its SHA-256 is logged. Available
/// on x86-64 and ARM64. Decoders, effects and encoders of an application run in its own process. See <doc:DecodersInWorkers>.
public struct DecoderIsolation: Sendable, Hashable {
    /// The path of the helper: the command `imgcache`, or a program that calls ``runHelperIfAsked(_:)``.
    public var helper: String

    /// True to decode in this process if there is no helper or the system cannot confine workers. If false, images then fail with
    /// ``ImageCodecError/Code/unavailable``; HEIF, JPEG XL and TIFF always do. Default false.
    public var isOptional = false

    /// The formats that are decoded in workers; `nil`: all. Default `nil`. HEIF, JPEG XL and TIFF are always decoded in workers.
    public var formats: Set<ImageFormat>?

    public init(helper: String) { self.helper = helper }

    /// Uses the program itself as the helper. It must first call ``runHelperIfAsked(_:)``.
    public static var ownProgram: DecoderIsolation { DecoderIsolation(helper: "/proc/self/exe") }

    /// Runs the helper and does not return, if the process was started as one. Call it before anything else, while the program has only one
    /// thread.
    public static func runHelperIfAsked(_ arguments: [String] = CommandLine.arguments) {
        let worker = ImageWorker(hasFaults: DecoderFault.isEnabled)
        HelperProgram.runIfAsked(arguments) {
            ImageCodecLibraries.prepare()
            DecoderFault.endHelper()
            SharedMemory.source = ({ WorkerMemory.allocate($0) }, { WorkerMemory.free($0) })
        } handle: { message, send in
            worker.answer(message, send)
        }
    }
}
