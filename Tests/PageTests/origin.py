"""An origin of pictures and of one large file that it sends slowly and cuts off once."""

import glob
import http.server
import os
import re
import threading
import time

assets = os.path.join(os.path.dirname(__file__), "..", "..", "TestAssets")


def pictures():
    """Images that browsers show, by name."""
    found = {}
    for kind in ("jpeg", "png", "webp"):
        for path in sorted(glob.glob(os.path.join(assets, kind, "*"))):
            if 2_000 < os.path.getsize(path) < 400_000:
                found[os.path.basename(path)] = path
    return found


class Origin:
    """`/gallery/NAME`: a picture, fresh for a while. `/large.iso`: slow, resumable, and cut in the middle the first time."""

    size = 24 << 20
    rate = 3 << 20
    freshness = ["max-age=86400", "max-age=2, stale-while-revalidate=3600", "no-cache", "max-age=11520"]

    def __init__(self, painted=None):
        self.pictures = painted or pictures()
        self.requests = []
        self.cuts = 1
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                origin.requests.append(self.path)
                if self.path.startswith("/large"):
                    return self.large()
                path = origin.pictures.get(os.path.basename(self.path.partition("?")[0]))
                if not path:
                    body = b"There is nothing here."
                    self.send_response(404)
                    self.send_header("Cache-Control", "max-age=3600")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    return self.wfile.write(body)
                with open(path, "rb") as file:
                    body = file.read()
                kind = path.rsplit(".", 1)[1].replace("jpg", "jpeg")
                age = origin.freshness[len(self.path) % len(origin.freshness)]
                tag = f'"{len(body)}"'
                is_known = self.headers.get("If-None-Match") == tag
                if is_known:
                    body = b""
                self.send_response(304 if is_known else 200)
                self.send_header("Content-Type", f"image/{kind}")
                self.send_header("Cache-Control", age)
                self.send_header("ETag", tag)
                if not is_known:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def large(self):
                start = 0
                part = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
                if part and self.headers.get("If-Range") == '"large"':
                    start = int(part[1])
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{origin.size - 1}/{origin.size}")
                self.send_header("Content-Type", "application/x-iso9660-image")
                self.send_header("Cache-Control", "max-age=86400")
                self.send_header("ETag", '"large"')
                self.send_header("Content-Length", str(origin.size - start))
                self.end_headers()
                piece = bytes(1 << 16)
                for at in range(start, origin.size, len(piece)):
                    if origin.cuts and at > origin.size * 2 // 5:
                        origin.cuts -= 1
                        self.close_connection = True
                        return
                    try:
                        self.wfile.write(piece[: origin.size - at])
                    except OSError:
                        return
                    time.sleep(len(piece) / origin.rate)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
