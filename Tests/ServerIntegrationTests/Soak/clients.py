"""Clients of all manners, each of which checks what it gets against what the origin may have had."""

import hashlib
import http.client
import re
import socket
import threading
import time

from origin import body, sizes

# A response may be as old as its lifetime says, to the second that Age counts in, and as the clocks of two threads differ.
slack = 1.5


class Findings:
    """What was seen; counters are read and written under the interpreter's own lock."""

    def __init__(self):
        self.counts = {}
        self.wrong = []
        # Seconds of requests of clients that do not attack.
        self.times = []

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def percentile(self, share):
        """Seconds that this share of other clients' requests took at most."""
        times = sorted(self.times)
        return times[int((len(times) - 1) * share)] if times else 0

    def note_wrong(self, text):
        self.count("wrong")
        if len(self.wrong) < 50:
            self.wrong.append(text)


class Client:
    def __init__(self, number, soak, generator):
        self.number = number
        self.soak = soak
        self.random = generator
        self.connection = None
        self.address = f"127.0.0.{10 + number}"
        # Attackers do nothing else, so that whatever they do to others is seen.
        self.attacks = number < soak.options.attackers

    def run(self):
        actions = [
            (6, self.poison), (6, self.fail), (2, self.heavy), (4, self.foreign), (2, self.burst), (2, self.get),
        ] if self.attacks else [
            (40, self.get), (8, self.part), (4, self.head), (6, self.leave), (3, self.slow), (5, self.post), (8, self.image),
            (4, self.own), (3, self.malformed), (2, self.trickle), (2, self.missing), (6, self.fresh), (6, self.whole),
        ]
        kinds = [action for weight, action in actions for _ in range(weight)]
        while not self.soak.is_over():
            try:
                self.random.choice(kinds)()
            except (OSError, http.client.HTTPException) as error:
                # The server was killed, or the response broke off and said so.
                self.soak.findings.count("broken off")
                self.drop()
                if isinstance(error, ConnectionRefusedError):
                    time.sleep(0.05)
        self.drop()

    def drop(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def ask(self, method, path, content=None, **fields):
        """Status, fields, content, and when it was asked."""
        if self.connection is None or self.random.random() < 0.05:
            self.drop()
            self.connection = http.client.HTTPConnection(
                "127.0.0.1", self.soak.port, timeout=60, source_address=(self.address, 0))
        began = time.monotonic()
        self.connection.request(method, path, content, {name.replace("_", "-"): value for name, value in fields.items()})
        answer = self.connection.getresponse()
        received = answer.read()
        if not self.attacks:
            self.soak.findings.times.append(time.monotonic() - began)
            if b"origin-left-alone" in received:
                self.soak.findings.count("refused for others")
        self.soak.findings.count("requests")
        self.soak.findings.count(f"{answer.status // 100}xx")
        return answer, received, began

    def wrong(self, text):
        self.soak.findings.note_wrong(f"{time.monotonic() - self.soak.start:.2f} s: {text}")

    # MARK: What is asked

    def name(self):
        # A few are asked for often.
        names = list(self.soak.origin.resources)
        return names[min(int(self.random.expovariate(0.15)), len(names) - 1)]

    def get(self):
        name = self.name()
        answer, received, began = self.ask("GET", f"/v/{name}")
        if answer.status == 200:
            self.check(name, answer, received, 0, began)
        elif answer.status not in (502, 503, 504, 429):
            self.wrong(f"GET {name}: status {answer.status}")

    def part(self):
        name = self.name()
        first = self.random.randrange(sizes(name))
        answer, received, began = self.ask("GET", f"/v/{name}", Range=f"bytes={first}-{first + 5000}")
        if answer.status == 206:
            said = re.match(r"bytes (\d+)-(\d+)/(\d+)", answer.headers.get("Content-Range", ""))
            if not said or int(said[1]) != first or int(said[2]) - first + 1 != len(received):
                return self.wrong(f"part of {name}: {answer.headers.get('Content-Range')} for {first}")
            self.check(name, answer, received, first, began)
        elif answer.status == 200:
            self.check(name, answer, received, 0, began)
        elif answer.status not in (502, 503, 504, 429):
            self.wrong(f"part of {name}: status {answer.status}")

    def check(self, name, answer, received, first, began):
        """That the content is that of one version, and that it may still be served."""
        said = re.fullmatch(rf'"{name}-(\d+)"', answer.headers.get("ETag", ""))
        if not said:
            return self.wrong(f"{name}: tag {answer.headers.get('ETag')}")
        version = int(said[1])
        expected = body(name, version)
        if answer.status == 206:
            expected = expected[first:first + len(received)]
        if received != expected:
            place = next((i for i, (a, b) in enumerate(zip(received, expected)) if a != b), min(len(received), len(expected)))
            return self.wrong(f"{name} version {version}: other bytes from {place} on, {len(received)} for {len(expected)}")
        resource = self.soak.origin.resources[name]
        # RFC 9111 section 4.2.4: a stale response may be served while the origin cannot be reached. Its transfers are cut now and then.
        is_for_failure = "detail=stale-if-error" in answer.headers.get("Cache-Status", "")
        if is_for_failure:
            self.soak.findings.count("stale for failures")
        oldest = 0 if is_for_failure else began - resource.lifetime - slack
        purge_began, purge_ended = self.soak.purged.get(name, (0, 0))
        if purge_ended <= began:
            oldest = max(oldest, purge_began)
        if not resource.was_current_after(version, oldest):
            self.wrong(
                f"{name} version {version}: out of date by more than {resource.lifetime} s, or purged "
                f"({answer.headers.get('Cache-Status')}, Age {answer.headers.get('Age')})")

    def head(self):
        name = self.name()
        answer, received, _ = self.ask("HEAD", f"/v/{name}")
        if received or (answer.status == 200 and answer.headers.get("Content-Length") != str(sizes(name))):
            self.wrong(f"HEAD {name}: {len(received)} bytes, length {answer.headers.get('Content-Length')}")

    def missing(self):
        answer, _, _ = self.ask("GET", f"/nothing/{self.random.randrange(50)}")
        if answer.status not in (404, 502, 503, 504, 429):
            self.wrong(f"nothing: status {answer.status}")

    def post(self):
        content = self.random.randbytes(self.random.randrange(200_000))
        answer, received, _ = self.ask("POST", "/post", content)
        if answer.status == 200 and received.decode() != hashlib.sha256(content).hexdigest():
            self.wrong(f"POST: the digest of other bytes than the {len(content)} sent")

    def own(self):
        whose = f"client={self.number}"
        answer, received, _ = self.ask("GET", "/me", Cookie=whose)
        if answer.status == 200 and (received.decode() != whose or answer.headers.get("Set-Cookie") != whose):
            self.wrong(f"{whose} was given what is {received.decode()}'s")

    def image(self):
        name = self.random.choice(list(self.soak.origin.images))
        options = self.random.choice(["w=64", "w=32,h=32,fit=cover", "w=100,format=png", "h=48,format=webp"])
        path = f"/image/{options}/pic/{name}"
        answer, received, _ = self.ask("GET", path)
        if answer.status == 200:
            kind = {b"\xff\xd8": "image/jpeg", b"\x89P": "image/png", b"RI": "image/webp", b"GI": "image/gif"}.get(received[:2])
            if kind != answer.headers.get("Content-Type"):
                self.wrong(f"{path}: {kind} as {answer.headers.get('Content-Type')}")
            known = self.soak.thumbnails.setdefault((path, answer.headers.get("Content-Type")), received)
            if known != received:
                self.wrong(f"{path}: other bytes than the first time")
        elif answer.status not in (400, 413, 415, 422, 429, 502, 503, 504):
            self.wrong(f"{path}: status {answer.status}")

    def fresh(self):
        """What nobody has asked for, and the origin has."""
        path = f"/fresh/{self.number}-{self.random.randrange(1 << 30)}"
        answer, received, _ = self.ask("GET", path)
        if answer.status == 200 and received.decode() != path or answer.status not in (200, 429, 502, 503, 504):
            self.wrong(f"{path}: status {answer.status}, {received[:80]!r}")

    def whole(self):
        """What others ask for in ways that fail."""
        name, kind = self.random.choice([("wide.png", "image/png"), ("logo.svg", "image/svg+xml")])
        answer, received, _ = self.ask("GET", f"/image/f=auto/pic/{name}", Accept="*/*")
        if answer.status not in (200, 429, 502, 503, 504) or answer.status == 200 and answer.headers["Content-Type"] != kind:
            self.wrong(f"{name} as it is: status {answer.status}, {received[:80]!r}")

    # MARK: Attackers

    def expect(self, answer, received, path, *statuses):
        if answer.status not in statuses + (429, 502, 503, 504):
            self.wrong(f"attack {path}: status {answer.status}, {received[:80]!r}")

    def poison(self):
        """Fails by options or Accept, as others do not."""
        path, accept = self.random.choice([
            ("f=auto/pic/wide.png", "image/webp"), ("info/pic/logo.svg", "*/*"), ("w=50/pic/logo.svg", "*/*"),
            ("f=auto,frame=7/pic/wide.png", "*/*"), ("f=webp/pic/logo.svg", "image/webp"),
        ])
        answer, received, _ = self.ask("GET", f"/image/{path}", Accept=accept)
        self.expect(answer, received, path, 200, 415, 422)

    def fail(self):
        path = f"/fail/{self.random.randrange(1 << 30)}"
        for _ in range(5):
            answer, received, _ = self.ask("GET", path if self.random.random() < 0.3 else path + str(self.random.random()))
            self.expect(answer, received, path, 503)

    def heavy(self):
        """Small files whose headers are long work."""
        name = self.random.choice(["heavy.png", "heavy.gif"])
        path = f"/image/{self.random.choice(['info', f'w={self.random.randrange(1, 500)}'])}/pic/{name}"
        answer, received, _ = self.ask("GET", path)
        self.expect(answer, received, path, 200, 415, 422)

    def foreign(self):
        path = self.random.choice([f"/v/{self.name()}", "/image/f=auto/pic/logo.svg", "/me"])
        host = self.random.choice(["evil.example", "127.0.0.1", "example.com:8080"])
        own = self.random.choice([host, f"127.0.0.1:{self.soak.port}"])
        with self.raw(f"GET http://{host}{path} HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n") as one:
            answer = one.recv(1000)
        if answer and not re.match(rb"HTTP/1.1 (421|429|503) ", answer):
            self.wrong(f"http://{host}{path}: {answer[:40]!r}")

    def burst(self):
        """Equal POSTs at once, each of which must arrive."""
        path, numbers = f"/count/{self.number}-{self.random.randrange(1 << 30)}", []

        def one():
            connection = http.client.HTTPConnection(
                "127.0.0.1", self.soak.port, timeout=60, source_address=(self.address, 0))
            try:
                connection.request("POST", path, b"equal")
                answer = connection.getresponse()
                received = answer.read()
                if answer.status == 200:
                    numbers.append(received)
            except (OSError, http.client.HTTPException):
                self.soak.findings.count("broken off")
            finally:
                connection.close()

        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(set(numbers)) != len(numbers):
            self.wrong(f"{path}: equal POSTs were joined: {numbers}")

    # MARK: Clients that take and never give

    def raw(self, text):
        one = socket.create_connection(("127.0.0.1", self.soak.port), 60, (self.address, 0))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.sendall(text.encode("latin-1"))
        return one

    def leave(self):
        with self.raw(f"GET /v/{self.name()} HTTP/1.1\r\nHost: x\r\n\r\n") as one:
            if self.random.random() < 0.7:
                one.recv(self.random.randrange(1, 3000))
        self.soak.findings.count("left")

    def slow(self):
        with self.raw(f"GET /v/{self.name()} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as one:
            for _ in range(30):
                if self.soak.is_over() or not one.recv(2000):
                    break
                time.sleep(0.02)
        self.soak.findings.count("slow")

    def trickle(self):
        with self.raw("POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n") as one:
            for _ in range(self.random.randrange(40)):
                if self.soak.is_over():
                    break
                one.sendall(b"x")
                time.sleep(0.02)
        self.soak.findings.count("trickled")

    def malformed(self):
        text = self.random.choice([
            "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET /../v/r1 HTTP/1.1\r\nHost: x\r\n\r\n", "nonsense\r\n\r\n", "GET / HTTP/1.1\r\nHost: [evil]\r\n\r\n",
        ])
        with self.raw(text) as one:
            answer = one.recv(1000)
        if answer and not re.match(rb"HTTP/1.1 (400|429|503) ", answer):
            self.wrong(f"{text!r}: {answer[:40]!r}")
