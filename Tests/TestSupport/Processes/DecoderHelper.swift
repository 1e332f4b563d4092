import Foundation

/// The command as the helper of one test's decoders: under a path by which its processes are known, with faults on demand.
public struct DecoderHelper: Sendable {
    public let path: String

    public init(in directory: TestDirectory) throws {
        path = try directory.write(
            """
            #!/bin/bash
            export IMGCACHE_TEST_DECODER_FAULTS=1
            exec -a "$0" '\(CommandRunner.executable)' "$@"
            """, to: "helper")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    /// The end of a file that has a fault (`DecoderFault`).
    public static func mark(_ fault: String) -> [UInt8] {
        Array("IMGCACHE-FAULT \(fault)".padding(toLength: 32, withPad: " ", startingAt: 0).utf8)
    }

    /// The helper's processes for this one.
    public func processes() throws -> DecoderProcesses { try DecoderProcesses(of: getpid(), startedAs: path) }
}
