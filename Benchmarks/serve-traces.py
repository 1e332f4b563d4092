"""The cost of traces: warm thumbnails of many URLs from a service without traces, with 1 % of the requests traced, and with all.
Each message to the collector is read as OpenTelemetry's ExportTraceServiceRequest, if opentelemetry-proto (PyPI) is there."""

import argparse
import base64
import http.server
import json
import statistics
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from load import again
from measure import heading, ratio, table
from origin import folder, nginx
from pictures import photo
from servers import ImgcacheServer, get

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=9, help="runs of each (default: 9)")
parser.add_argument("--seconds", type=int, default=4, help="of each run (default: 4)")
parser.add_argument("--urls", type=int, default=400, help="of thumbnails (default: 400)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()

messages: list[bytes] = []


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        messages.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_) -> None:
        pass


def binary_ids(value):
    """OTLP has ids as hexadecimal digits, where the JSON of Protocol Buffers has base64."""
    if isinstance(value, list):
        return [binary_ids(member) for member in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {name: base64.b64encode(bytes.fromhex(member)).decode() if name in ids else binary_ids(member)
            for name, member in value.items()}


def checked() -> str:
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        return "not checked: opentelemetry-proto is not installed"
    names: dict[str, int] = {}
    for message in messages:
        request = json_format.ParseDict(binary_ids(json.loads(message)), ExportTraceServiceRequest())
        for span in (span for r in request.resource_spans for s in r.scope_spans for span in s.spans):
            assert len(span.trace_id) == 16 and len(span.span_id) == 8 and span.name and span.kind
            assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
            names[span.name] = names.get(span.name, 0) + 1
    return f"{len(messages)} messages are right: {names}"


heading("The cost of traces", "serve-traces")
collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=collector.serve_forever, daemon=True).start()
endpoint = f"http://127.0.0.1:{collector.server_port}"
with folder(options.tmpfs, 1) as work:
    root = work / "root"
    root.mkdir()
    photo(1600, 1000).save(root / "photo.jpg", quality=85)
    paths = [f"/image/w={60 + number},f=jpeg/photo.jpg" for number in range(options.urls)]
    script = work / "urls.lua"
    script.write_text(
        "local n = 0\nlocal paths = {" + ",".join(f'"{path}"' for path in paths) + "}\n"
        "request = function() n = n % #paths + 1; return wrk.format('GET', paths[n]) end\n")
    with nginx(root, expires="1h") as (origin, _):
        kinds = {"without": [], "1 %": ["--trace-sampling", "0.01"], "all": ["--trace-sampling", "1"]}
        servers = {}
        for name, more in kinds.items():
            where = ["--otlp-endpoint", endpoint, *more] if more else []
            servers[name] = ImgcacheServer(origin, work, *where).__enter__()
        try:
            for server in servers.values():
                for path in paths:
                    assert get(f"http://127.0.0.1:{server.port}{path}")[0] == 200
            runs = {name: [] for name in servers}
            for number in range(-1, options.rounds):
                order = list(servers)[number % 3:] + list(servers)[:number % 3]
                for name in order:
                    address = f"http://127.0.0.1:{servers[name].port}/"
                    cpu = again(servers[name], address, 64, options.seconds, script=script).cpu
                    if number >= 0:
                        runs[name].append(cpu)
        finally:
            for server in servers.values():
                server.__exit__(None, None, None)
medians = {name: statistics.median(cpu) for name, cpu in runs.items()}
table(["traced", "CPU a request, µs", "of `without`"],
      [[name, f"{cpu:.1f}", ratio(cpu, medians["without"])] for name, cpu in medians.items()])
print(f"\n{checked()}")
