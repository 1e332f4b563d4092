"""An origin whose resources change, break off and fail, and that remembers what it may have said when."""

import hashlib
import http.server
import itertools
import random
import re
import threading
import time


def body(name, version):
    """The one body of a version of a resource; no two have a stretch in common."""
    seed = f"{name} {version}".encode()
    size = sizes(name)
    block = hashlib.shake_256(seed).digest(min(size, 4096))
    # Each block begins with its number, so that none can stand in another's place.
    blocks = []
    left = size
    number = 0
    while left > 0:
        part = (f"{name}/{version}/{number};".encode() + block)[:min(4096, left)]
        blocks.append(part)
        left -= len(part)
        number += 1
    return b"".join(blocks)


def sizes(name):
    kinds = (700, 20_000, 150_000, 400_000, 1_500_000)
    return kinds[int(hashlib.sha256(name.encode()).hexdigest(), 16) % len(kinds)]


class Resource:
    """What one URL was, from when on."""

    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        # (version, when it became current); the last is current.
        self.history = [(1, 0.0)]
        # 0: to be confirmed before each use.
        self.lifetime = int(hashlib.sha256(name.encode()).hexdigest()[-2:], 16) % 3

    def current(self):
        with self.lock:
            return self.history[-1][0]

    def change(self):
        with self.lock:
            self.history.append((self.history[-1][0] + 1, time.monotonic()))

    def was_current_after(self, version, moment):
        """Whether the version was current at or after that moment; None: there was no such version."""
        with self.lock:
            for index, (known, _) in enumerate(self.history):
                if known == version:
                    return index + 1 == len(self.history) or self.history[index + 1][1] >= moment
        return None


class Origin:
    def __init__(self, images, attacked, generator, count=40):
        self.resources = {f"r{number}": Resource(f"r{number}") for number in range(count)}
        self.images = images
        # Those that only attackers, and the clients that they attack, ask for.
        self.attacked = attacked
        self.random = random.Random(generator.random())
        self.faults = True
        self.requests = 0
        self.numbers = itertools.count()
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def log_message(self, *_):
                pass

            def do_GET(self):
                origin.answer(self, "GET")

            def do_HEAD(self):
                origin.answer(self, "HEAD")

            def do_POST(self):
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path.startswith("/count/"):
                    return send(self, 200, str(next(origin.numbers)).encode(), [])
                send(self, 200, hashlib.sha256(content).hexdigest().encode(), [])

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, method):
        self.requests += 1
        path = handler.path.partition("?")[0]
        kind, _, name = path[1:].partition("/")
        if kind == "v" and name in self.resources:
            return self.resource(handler, method, self.resources[name])
        picture = self.images.get(name, self.attacked.get(name))
        if kind == "pic" and picture is not None:
            return send(handler, 200, picture, [("Cache-Control", "max-age=600"), ("ETag", f'"{name}"')], method)
        if kind == "fresh":
            return send(handler, 200, path.encode(), [("Cache-Control", "max-age=600")], method)
        if kind == "fail":
            return send(handler, 503, b"Never.", [("Cache-Control", "no-store")], method)
        if kind == "me":
            # One client's own: never another's.
            whose = handler.headers.get("Cookie", "")
            return send(handler, 200, whose.encode(), [("Cache-Control", "private"), ("Set-Cookie", whose)], method)
        send(handler, 404, b"There is nothing here.", [("Cache-Control", "max-age=1")], method)

    def resource(self, handler, method, resource):
        version = resource.current()
        content = body(resource.name, version)
        tag = f'"{resource.name}-{version}"'
        cache = f"max-age={resource.lifetime}" if resource.lifetime else "no-cache"
        fields = [("ETag", tag), ("Cache-Control", cache), ("Accept-Ranges", "bytes")]
        fault = self.random.random() if self.faults else 1
        if fault < 0.01:
            return send(handler, 503, b"Not now.", [])
        if handler.headers.get("If-None-Match") == tag:
            return send(handler, 304, None, fields)
        status = 200
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("Range") or "")
        if wanted and handler.headers.get("If-Range", tag) == tag and int(wanted[1]) < len(content):
            first, last = int(wanted[1]), min(int(wanted[2] or len(content)), len(content) - 1)
            fields.append(("Content-Range", f"bytes {first}-{last}/{len(content)}"))
            content, status = content[first:last + 1], 206
        cut = self.random.randrange(len(content)) if fault < 0.04 else None
        if fault < 0.06:
            time.sleep(self.random.random() * 0.3)
        send(handler, status, content, fields, method, cut)


def send(handler, status, content, fields, method="GET", cut=None):
    handler.send_response(status)
    for field in fields:
        handler.send_header(*field)
    if content is not None:
        handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    if content is None or method == "HEAD":
        return
    if cut is not None:
        handler.wfile.write(content[:cut])
        handler.close_connection = True
        return
    handler.wfile.write(content)
