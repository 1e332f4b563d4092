#!/usr/bin/env python3
"""The service with everything at once: origins that change, break off and fail, purges, hostile images, slow and leaving
clients, some that attack the others, kill -9, SIGHUP, a disk that is full for a while. Each response is checked against what the origin may have had.

  service_soak.py BINARY [--seconds 600] [--clients 10] [--attackers 2] [--assets DIR] [--csv FILE] [--svg FILE] [--seed N]

Prints one line of figures. Exit code 1 when a response was wrong, or the server ended by itself, or kept descriptors at the end.
"""

import argparse
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from clients import Client, Findings  # noqa: E402
from origin import Origin  # noqa: E402
from plot import Samples  # noqa: E402

token = "a token for tests"
# Idle connections to the origin are kept for later requests; there is one for each transfer at most.
kept_connections = 16
# Workers that decode are started when they are needed; each has a connection and a descriptor of its process.
workers = 16
# Decoded rows that are kept for further sizes (`RowMemory.mostKept`) hold a descriptor each.
kept_rows = 32


class Soak:
    def __init__(self, options):
        self.options = options
        self.findings = Findings()
        self.random = random.Random(options.seed)
        self.folder = tempfile.mkdtemp(prefix="imgcache-soak-")
        self.store = os.path.join(self.folder, "store")
        self.disk = self.mount()
        self.origin = Origin(images(options.assets), attacked_images(), self.random)
        self.port, self.admin = free_port(), free_port()
        self.purged, self.thumbnails = {}, {}
        self.kills = self.reloads = self.fills = self.purges = 0
        self.process = None
        self.stops = False
        self.mistakes = []

    def is_over(self):
        return self.stops or time.monotonic() - self.start > self.options.seconds

    # MARK: The server

    def mount(self):
        """A small disk of its own for the store, where this may be done; else none is ever full."""
        os.mkdir(self.store)
        made = os.getuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=96m", "imgcache-soak", self.store], stderr=subprocess.DEVNULL).returncode == 0
        if not made:
            print("service: no disk of its own can be mounted here; none is ever full", file=sys.stderr)
        return made

    def launch(self):
        configuration = os.path.join(self.folder, "server.json")
        with open(configuration, "w") as file:
            file.write('{"log-level": "error", "retry-after": 1}')
        token_file = os.path.join(self.folder, "token")
        with open(os.open(token_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(token)
        self.process = subprocess.Popen(
            [
                self.options.binary, "--origin", self.origin.url, "--listen", f"127.0.0.1:{self.port}", "--admin",
                f"127.0.0.1:{self.admin}", "--cache-dir", os.path.join(self.store, "cache"), "--capacity", "48MiB",
                "--memory-capacity", "16MiB", "--access-log", "off", "--config", configuration, "--admin-token-file", token_file,
                "--header-timeout", "5s", "--body-timeout", "5s", "--write-timeout", "5s", "--grace-period", "5s",
                "--max-pixels", "30000000", "--svg", "pass", "--image-timeout", "5s", "--origin-connections", str(kept_connections),
            ],
            stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.folder, "errors"), "a"))
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.ask("/healthz")[0] == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the server does not start: " + self.errors())

    def errors(self):
        with open(os.path.join(self.folder, "errors")) as file:
            return file.read()[-2000:]

    def ask(self, path, method="GET"):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.admin}{path}", method=method, headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    # MARK: What happens to it

    def disturb(self):
        """Changes, purges, reloads, kills, a full disk: each now and then. In a long run one process lives through the second half."""
        next_kill = time.monotonic() + 8
        last_kill = self.start + self.options.seconds * (0.5 if self.options.seconds > 60 else 1)
        while not self.is_over():
            time.sleep(self.random.random() * 0.1)
            chance = self.random.random()
            if chance < 0.35:
                self.random.choice(list(self.origin.resources.values())[:12]).change()
            elif chance < 0.45:
                self.purge()
            elif chance < 0.46:
                self.process.send_signal(signal.SIGHUP)
                self.reloads += 1
            elif chance < 0.48:
                self.quietly(lambda: [self.ask(path) for path in ("/metrics", "/api/summary", "/api/entries?limit=20")])
            elif chance < 0.485 and self.disk:
                self.fill()
            if self.process.poll() is not None:
                self.mistakes.append(f"the server ended with {self.process.returncode}: {self.errors()}")
                self.stops = True
            elif next_kill < time.monotonic() < last_kill:
                self.restart(self.random.random() < 0.7)
                next_kill = time.monotonic() + 5 + self.random.random() * 20

    def quietly(self, work):
        try:
            work()
        except OSError:
            self.findings.count("admin broken off")

    def purge(self):
        name = self.random.choice(list(self.origin.resources)[:12])

        def work():
            self.origin.resources[name].change()
            began = time.monotonic()
            if self.ask(f"/v/{name}", "PURGE")[0] in (200, 404):
                # Later responses must not be older than the purge's beginning.
                self.purged[name] = (began, time.monotonic())
                self.purges += 1
        self.quietly(work)

    def fill(self):
        """No byte left for a second."""
        path = os.path.join(self.store, "filler")
        try:
            with open(path, "wb") as file:
                while True:
                    file.write(bytes(1 << 20))
                    file.flush()
        except OSError:
            pass
        self.fills += 1
        time.sleep(1)
        os.unlink(path)

    def restart(self, by_kill):
        self.process.send_signal(signal.SIGKILL if by_kill else signal.SIGTERM)
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.mistakes.append("the server does not end within 30 s of SIGTERM")
            self.process.kill()
            code = self.process.wait()
        if by_kill:
            self.kills += 1
        elif code != 0:
            self.mistakes.append(f"SIGTERM ended the server with {code}: {self.errors()}")
        self.launch()

    # MARK: All of it

    def run(self):
        self.launch()
        self.start = time.monotonic()
        samples = Samples(self)
        clients = [Client(number, self, random.Random(self.random.random())) for number in range(self.options.clients)]
        threads = [threading.Thread(target=client.run, daemon=True) for client in clients]
        threads += [threading.Thread(target=samples.run, daemon=True)]
        for thread in threads:
            thread.start()
        self.disturb()
        for thread in threads:
            thread.join(90)
        self.settle(samples)
        samples.write(self.options.csv, self.options.svg)
        counts = self.findings.counts
        # While the origin fails for most of the clients, others are refused, too: now and then, not as a rule.
        refused = counts.get("refused for others", 0)
        if refused > max(5, counts.get("requests", 0) // 1000):
            self.mistakes.append(f"{refused} requests were refused for the failures of others")
        print(
            f"service: {self.options.seconds} s, seed {self.options.seed}, {counts.get('requests', 0)} responses checked, "
            f"{counts.get('wrong', 0)} wrong, {refused} refused for others, {counts.get('broken off', 0)} broken off, {self.kills} kills, {self.reloads} "
            f"SIGHUPs, {self.purges} purges, {self.fills} times full, at most {samples.most_memory >> 20} MiB and "
            f"{samples.most_descriptors} descriptors; beside {self.options.attackers} attackers others' p99 is "
            f"{self.findings.percentile(0.99) * 1000:.0f} ms", flush=True)
        for text in self.findings.wrong + self.mistakes:
            print("  " + text)
        return 1 if self.findings.wrong or self.mistakes else 0

    def settle(self, samples):
        """Whether nothing is held when nobody asks any more."""
        if self.process.poll() is not None:
            return
        end = time.monotonic() + 30
        while time.monotonic() < end:
            held = samples.take()
            if held and held["descriptors"] <= samples.first_descriptors + kept_connections + workers + kept_rows:
                return
            time.sleep(0.5)
        self.mistakes.append(
            f"{held['descriptors'] if held else '?'} descriptors are open when nobody asks, {samples.first_descriptors} at first: "
            f"{samples.kinds()}")

    def close(self):
        self.stops = True
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.origin.close()
        if self.disk:
            subprocess.run(["umount", "-l", self.store], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)


def images(assets):
    """Good and hostile images, by name."""
    found = {}
    for folder in ("jpeg", "png", "webp", "hostile"):
        path = os.path.join(assets, folder)
        for name in sorted(os.listdir(path))[:40] if os.path.isdir(path) else []:
            file = os.path.join(path, name)
            if os.path.getsize(file) < 2 << 20:
                with open(file, "rb") as one:
                    found[f"{folder}-{name}".replace("%", "")] = one.read()
    return found


def attacked_images():
    """Originals that some requests for fail and others do not, and those whose headers are long work, by name."""
    def chunk(kind, content=b""):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    def png(width, *chunks):
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0))
        rows = chunk(b"IDAT", zlib.compress(bytes(1 + width)))
        return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + rows + chunk(b"IEND")

    # A frame of one pixel: its descriptor, and the code of a clear, the pixel, and the end.
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    gif = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + bytes(6) + frame * 100_000 + b"\x3b"
    return {
        # WebP holds 16,383 pixels a side.
        "wide.png": png(17_000), "logo.svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
        "heavy.png": png(9, chunk(b"teSt") * 150_000), "heavy.gif": gif,
    }


def free_port():
    import socket
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--attackers", type=int, default=2, help="those of the clients that attack the others")
    parser.add_argument("--assets", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../TestAssets"))
    parser.add_argument("--csv")
    parser.add_argument("--svg")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    soak = Soak(parser.parse_args())
    try:
        code = soak.run()
    finally:
        soak.close()
    sys.exit(code)
