import Foundation
import Glibc

/// A real nginx on an ephemeral port of 127.0.0.1, with its own folder. It is stopped when released.
public final class Nginx: Sendable {
    /// The settings that differ from nginx's defaults (strong ETag, ranges honoured).
    public struct Options: Sendable {
        /// `max_ranges 0`: ranges are ignored.
        public var ignoresRanges = false
        /// `gzip on` for every type: weakens the ETag and drops ranges for clients that accept gzip.
        public var compresses = false
        /// `etag off`: only Last-Modified is left.
        public var omitsETag = false
        /// `limit_rate`, bytes a second.
        public var bytesPerSecond: Int?
        /// Serves over TLS with that authority's certificate.
        public var authority: TestCA?
        /// Offers HTTP/2 too; over TLS.
        public var offersHTTP2 = false
        /// Servers that it is in front of, on ports of 127.0.0.1: a request goes to the next one when one does not respond to it.
        public var backends: [UInt16] = []
        /// Further directives for the server block.
        public var directives = ""

        public init() {}
    }

    /// One line of the access log.
    public struct LoggedRequest: Sendable {
        public let method: String
        public let path: String
        public let status: Int
        public let bodyBytesSent: Int64
        /// The Range field, or nil.
        public let range: String?
        public let ifRange: String?
        /// `HTTP/1.1` or `HTTP/2.0`.
        public let version: String
    }

    public let port: UInt16
    /// The authority that issued its certificate, for TLS.
    public let authority: TestCA?
    private let directory: TestDirectory
    private let process: ChildProcess

    /// The folder whose files it serves.
    public var root: String { directory.path("root") }

    /// The reason why it is unavailable here, or nil: for `.enabled(if:)`.
    public static let unavailableReason: String? =
        ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"].contains { (path: String) in
            access(path, X_OK) == 0
        }
        ? nil : "nginx is not installed (apt install nginx-light)"

    public init(_ options: Options = Options()) async throws {
        authority = options.authority
        directory = try TestDirectory()
        for name in ["root", "logs", "temp"] {
            try FileManager.default.createDirectory(atPath: directory.path(name), withIntermediateDirectories: true)
        }
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = (environment["PATH"] ?? "") + ":/usr/sbin:/usr/local/sbin"
        (process, port) = try await ChildProcess.server("nginx", announcedBy: directory.path("nginx.pid")) {
            [directory, environment] port in
            let configuration = try directory.write(
                Self.configuration(options, port: port, directory: directory.path), to: "nginx.conf")
            return try ChildProcess(
                "nginx", ["-p", directory.path, "-e", "stderr", "-c", configuration], environment: environment)
        }
    }

    /// The URL of a file under `root`.
    public func url(_ path: String) -> String { "\(authority == nil ? "http" : "https")://127.0.0.1:\(port)\(path)" }

    /// The command's arguments for trusting it.
    public var trust: [String] { authority.map { ["--cacert", $0.certificate] } ?? [] }

    /// Puts a file with that content under `root`, by rename: a download under way keeps the old file.
    public func serve(_ content: Content, as name: String) throws {
        let new = directory.path("temp/\(UInt64.random(in: 0...UInt64.max))")
        try content.write(to: new)
        guard rename(new, "\(root)/\(name)") == 0 else { throw SystemCallFailure("rename") }
    }

    /// The requests that are over, in the order in which they ended.
    ///
    /// - Parameter count: waits until there are so many, or a minute is over: one is logged after its answer.
    public func requests(atLeast count: Int) async throws -> [LoggedRequest] {
        try await AccessLog(path: directory.path("logs/access")).lines(atLeast: count).compactMap { line in
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 7, let status = Int(parts[2]), let sent = Int64(parts[3]) else { return nil }
            return LoggedRequest(
                method: parts[0], path: parts[1], status: status, bodyBytesSent: sent,
                range: parts[4] == "-" ? nil : parts[4], ifRange: parts[5] == "-" ? nil : parts[5],
                version: parts[6])
        }
    }

    private static func configuration(_ options: Options, port: UInt16, directory: String) -> String {
        var server = options.directives
        if options.ignoresRanges { server += "max_ranges 0;\n" }
        if options.compresses { server += "gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;\n" }
        if options.omitsETag { server += "etag off;\n" }
        if let rate = options.bytesPerSecond { server += "limit_rate \(rate);\n" }
        if let authority = options.authority {
            server += """
                ssl_certificate \(authority.serverCertificate);
                ssl_certificate_key \(authority.serverKey);

                """
        }
        var backends = ""
        if !options.backends.isEmpty {
            let servers = options.backends.map { "server 127.0.0.1:\($0) max_fails=1 fail_timeout=5s;" }
            backends = "upstream backends { \(servers.joined(separator: " ")) keepalive 16; }"
            // Path and Host are signed: they must arrive as they were sent.
            server += """
                client_max_body_size 64m;
                location / {
                    proxy_pass http://backends;
                    proxy_http_version 1.1;
                    proxy_set_header Connection "";
                    proxy_set_header Host $http_host;
                    proxy_connect_timeout 1s;
                    proxy_read_timeout 10s;
                    proxy_next_upstream error timeout http_502 http_503;
                }

                """
        }
        return """
            daemon off;
            master_process off;
            worker_processes 1;
            pid \(directory)/nginx.pid;
            error_log stderr;
            events { worker_connections 512; }
            http {
                types { text/plain txt; image/png png; image/jpeg jpg; }
                default_type application/octet-stream;
                log_format tests escape=none
                    '$request_method\\t$uri\\t$status\\t$body_bytes_sent\\t$tests_range\\t$tests_if_range'
                    '\\t$server_protocol';
                map $http_range $tests_range { '' '-'; default $http_range; }
                map $http_if_range $tests_if_range { '' '-'; default $http_if_range; }
                access_log \(directory)/logs/access tests;
                client_body_temp_path \(directory)/temp/body;
                proxy_temp_path \(directory)/temp/proxy;
                fastcgi_temp_path \(directory)/temp/fastcgi;
                uwsgi_temp_path \(directory)/temp/uwsgi;
                scgi_temp_path \(directory)/temp/scgi;
                \(backends)
                server {
                    listen 127.0.0.1:\(port)\(options.authority == nil ? "" : " ssl")\(
                        options.offersHTTP2 ? " http2" : "") sndbuf=32k;
                    root \(directory)/root;
                    \(server)
                }
            }
            """
    }
}
