import ImageCodec
import WorkerProcesses

/// Where images are decoded: in processes of their own, so that a file that breaks a codec breaks nothing else.
///
///     configuration.decoderIsolation = DecoderIsolation(helper: "/usr/bin/imgcache")
///
/// Decoding, resizing, effects and encoding then run in worker processes that may not open files or sockets, get no new privileges, and
/// are killed at their limits of memory and CPU time. A file that makes one crash is an ``ImageCodecError/Code/crashed``, and one line in
/// the log with its SHA-256. x86-64 and ARM64 have it. An application's own decoders, effects and encoders stay in its process. See
/// <doc:DecodersInWorkers>.
public struct DecoderIsolation: Sendable, Hashable {
    /// The path of the helper: the command `imgcache`, or a program that calls ``runHelperIfAsked(_:)``.
    public var helper: String

    /// True to decode in the program's own process if there is no helper, or the system does not let workers be confined; false: images
    /// then fail, as ``ImageCodecError/Code/unavailable``. Default false.
    public var isOptional = false

    public init(helper: String) { self.helper = helper }

    /// The program itself as its helper. It must begin with ``runHelperIfAsked(_:)``.
    public static var ownProgram: DecoderIsolation { DecoderIsolation(helper: "/proc/self/exe") }

    /// Serves as the helper if the process was started as one, and then does not return. To be called first of all, before the program
    /// has a second thread.
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
