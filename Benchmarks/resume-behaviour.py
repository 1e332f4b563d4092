"""What downloaders do after a cut, by themselves and five at once. Prints a line for each; takes another imgcache as argument.

The origin serves 3 MB, and cuts the first response at its middle. Then the same command runs again: with the same file, with
another one of the same size, and behind a redirect that leads to another one with the same ETag and date, as nginx makes them
of files of one size and time.
"""

import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SIZE = 3_000_000
BODIES = {version: random.Random(version).randbytes(SIZE) for version in (1, 2)}
IMGCACHE = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parent.parent / ".build/product/imgcache")


class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    version = 1
    cuts = False
    delay = 0.0
    sent = 0
    lock = threading.Lock()

    def log_message(self, *arguments): pass

    def do_GET(self):
        if self.path == "/latest":
            self.respond(302, [("Location", f"/release-{Origin.version}"), ("Content-Length", "0")])
            return
        with Origin.lock:
            cuts, Origin.cuts = Origin.cuts, False
        body = BODIES[Origin.version]
        if self.path == "/file":
            tag, date = f'"v{Origin.version}"', f"Sun, 06 Nov 2022 08:4{Origin.version}:37 GMT"
        else:
            tag, date = '"same"', "Sun, 06 Nov 2022 08:49:37 GMT"
        if self.headers.get("If-None-Match", "") == tag:
            self.respond(304, [("ETag", tag)])
            return
        start = 0
        if "Range" in self.headers and self.headers.get("If-Range", tag) in (tag, date):
            start = int(self.headers["Range"].split("=")[1].split("-")[0])
        if start >= SIZE:
            self.respond(416, [("Content-Range", f"bytes */{SIZE}"), ("Content-Length", "0")])
            return
        fields = [("ETag", tag), ("Last-Modified", date), ("Content-Length", str(SIZE - start))]
        if start:
            fields.append(("Content-Range", f"bytes {start}-{SIZE - 1}/{SIZE}"))
        self.respond(206 if start else 200, fields)
        time.sleep(Origin.delay)
        part = body[start:SIZE // 2 if cuts else SIZE]
        self.wfile.write(part)
        with Origin.lock:
            Origin.sent += len(part)
        if cuts:
            self.wfile.flush()
            self.connection.shutdown(2)
            self.close_connection = True

    def respond(self, status, fields):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()


COMMANDS = {
    "imgcache fetch -o": lambda url, folder, name: [
        IMGCACHE, "fetch", "-q", "--retry", "0", "--cache-dir", f"{folder}/cache", "-o", f"{folder}/{name}", url],
    "curl -L -C -": lambda url, folder, name: ["curl", "-sL", "-C", "-", "-o", f"{folder}/{name}", url],
    "wget -c": lambda url, folder, name: ["wget", "-q", "-t", "1", "-c", "-O", f"{folder}/{name}", url],
}
CASES = [("the same file", "/file", False), ("replaced", "/file", True), ("redirect moved", "/latest", True)]

server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_address[1]}"


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode


for program, command in COMMANDS.items():
    for case, path, changes in CASES:
        with tempfile.TemporaryDirectory() as folder:
            Origin.version, Origin.cuts = 1, True
            run(command(base + path, folder, "file"))
            Origin.version, Origin.sent = 2 if changes else 1, 0
            status = run(command(base + path, folder, "file"))
            right = Path(folder, "file").read_bytes() == BODIES[Origin.version]
            print(f"{program}: cut, {case}: sent {Origin.sent}, exit {status}, {'right' if right else 'WRONG'}")
            if case == "the same file":
                Origin.sent = 0
                status = run(command(base + path, folder, "file"))
                print(f"{program}: complete: sent {Origin.sent}, exit {status}")
    with tempfile.TemporaryDirectory() as folder:
        Origin.version, Origin.sent, Origin.delay = 1, 0, 1.5
        processes = [
            subprocess.Popen(command(base + "/file", folder, f"file{number}"), stdout=subprocess.DEVNULL)
            for number in range(5)
        ]
        for process in processes:
            process.wait()
        Origin.delay = 0.0
        print(f"{program}: five at once: sent {Origin.sent / SIZE:g} files")
server.shutdown()
