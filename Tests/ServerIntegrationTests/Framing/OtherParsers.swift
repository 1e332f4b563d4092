import Foundation
import Glibc
import TestSupport

/// A third-party parser.
protocol OtherParser: Sendable {
    var name: String { get }
    /// The whole requests of each stream.
    func split(_ streams: [[UInt8]]) async throws -> [[FramedRequest]]
}

/// Node's parser, in a separate process.
struct LLHTTP: OtherParser {
    let name = "llhttp"

    private struct Line: Decodable {
        var requests: [[String]]
    }

    func split(_ streams: [[UInt8]]) async throws -> [[FramedRequest]] {
        let directory = try TestDirectory()
        let input = streams.map { Data($0).base64EncodedString() }.joined(separator: "\n") + "\n"
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("llhttp.js")
        let process = try ChildProcess(
            "node", [script.resolvingSymlinksInPath().path], environment: ProcessInfo.processInfo.environment,
            input: try directory.write(input, to: "streams"))
        let ending = await process.end()
        let lines = process.output.split(separator: "\n")
        guard ending == .exited(0), lines.count == streams.count else {
            throw TestSetupFailure("node: \(ending), \(lines.count) lines: \(process.errorOutput)")
        }
        return try lines.map { line in
            try JSONDecoder().decode(Line.self, from: Data(line.utf8)).requests.map { parts in
                FramedRequest(parts[0], parts[1], [UInt8](Data(base64Encoded: parts[2]) ?? Data()))
            }
        }
    }
}

/// nginx as a proxy, in front of an origin that notes what it is asked.
struct NginxProxy: OtherParser {
    let name = "nginx"
    private let origin: ScriptedOrigin
    private let nginx: Nginx

    init() async throws {
        origin = try ScriptedOrigin(sendBuffer: nil) { _ in
            [.head(status: 200, fields: [("Content-Length", "0"), ("Connection", "close")]), .cut(reset: false)]
        }
        var options = Nginx.Options()
        options.directives = """
            client_header_buffer_size 64k; large_client_header_buffers 8 64k; client_max_body_size 0;
            ignore_invalid_headers off; underscores_in_headers on; keepalive_requests 100000; merge_slashes off;
            lingering_close off; client_header_timeout 10s; client_body_timeout 10s;
            add_header X-Connection $connection always;
            location / {
                proxy_pass http://127.0.0.1:\(origin.port); proxy_pass_request_headers off; proxy_ignore_client_abort on;
                proxy_set_header X-Connection $connection; proxy_request_buffering on;
            }
            """
        nginx = try await Nginx(options)
    }

    func split(_ streams: [[UInt8]]) async throws -> [[FramedRequest]] {
        let before = origin.requests.count
        let port = nginx.port
        let connections = try await onThreadOfItsOwn { try streams.map { try Self.connection(of: $0, port) } }
        var requests: [String: [FramedRequest]] = [:]
        for recorded in origin.requests[before...] {
            guard let connection = recorded["X-Connection"] else { continue }
            let request = recorded.request
            requests[connection, default: []].append(FramedRequest(request.method, request.target, request.body))
        }
        return connections.map { $0.flatMap { requests[$0] } ?? [] }
    }

    /// Sends a stream and takes all that comes; gives nginx's number of the connection.
    private static func connection(of stream: [UInt8], _ port: UInt16) throws -> String? {
        let client = try Client(port)
        client.send(stream)
        client.finish()
        let answer = String(decoding: client.rest(), as: UTF8.self)
        guard let field = answer.range(of: "X-Connection: ") else { return nil }
        return String(answer[field.upperBound...].prefix { $0.isNumber })
    }
}
