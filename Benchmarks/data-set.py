"""A set of files with checksums from an origin that cuts every tenth body and answers 15 % of the requests with 503."""

import argparse
import hashlib
import http.server
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, table
from origin import IMGCACHE, folder, write_random

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--files", type=int, default=301, help="how many (default: 301)")
parser.add_argument("--bytes", type=int, default=400_000, help="size of each (default: 400000)")
parser.add_argument("--parallel", type=int, default=8, help="at once (default: 8)")
parser.add_argument("--seed", type=int, default=1, help="of the origin's failures (default: 1)")
parser.add_argument("--folder", default="/var/tmp", help="where (default: /var/tmp)")
parser.add_argument("--limit", type=int, default=600, help="seconds after which a run is stopped (default: 600)")
options = parser.parse_args()


class Flaky(http.server.BaseHTTPRequestHandler):
    """Ranges and strong validators, as good servers have them; each answer fails by a number that follows from the seed."""

    protocol_version = "HTTP/1.1"
    random = random.Random()
    lock = threading.Lock()
    root: Path
    requests = 0
    sent = 0

    def log_message(self, *arguments):
        pass

    def fails(self, share: float) -> bool:
        with self.lock:
            return self.random.random() < share

    def do_HEAD(self):
        self.answer(head=True)

    def do_GET(self):
        self.answer(head=False)

    def answer(self, head: bool):
        with self.lock:
            Flaky.requests += 1
        name = self.path.rsplit("/", 1)[-1].split("?")[0]
        path = self.root / name
        if not path.is_file():
            return self.empty(404)
        if self.fails(0.15):
            return self.empty(503)
        body = path.read_bytes()
        tag = f'"{name}-{len(body)}"'
        if self.headers.get("If-None-Match") == tag:
            self.send_response(304)
            self.send_header("ETag", tag)
            self.end_headers()
            return None
        start, end = 0, len(body)
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes=") and self.headers.get("If-Range", tag) == tag:
            first, last = asked[6:].split("-")
            start, end = int(first), int(last) + 1 if last else len(body)
            if start >= len(body):
                return self.empty(416, ("Content-Range", f"bytes */{len(body)}"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", tag)
        self.send_header("Accept-Ranges", "bytes")
        # What Hugging Face's hub says of a file.
        self.send_header("X-Repo-Commit", "0" * 40)
        self.end_headers()
        if head:
            return None
        part = body[start:end]
        if self.fails(0.10):
            part = part[: len(part) // 2]
            self.close_connection = True
        with self.lock:
            Flaky.sent += len(part)
        self.wfile.write(part)
        return None

    def empty(self, status: int, *fields: tuple[str, str]):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()


POOCH = """
import concurrent.futures, pooch, sys
base, sums, out, parallel = sys.argv[1:]
registry = {name: "sha256:" + sum for sum, name in (line.split() for line in open(sums))}
shelf = pooch.create(path=out, base_url=base + "/", registry=registry, retry_if_failed=5)
def fetch(name):
    try: shelf.fetch(name, progressbar=False)
    except Exception as error: print(name, type(error).__name__, file=sys.stderr)
with concurrent.futures.ThreadPoolExecutor(int(parallel)) as pool: list(pool.map(fetch, registry))
"""

HUB = """
import concurrent.futures, os, sys
base, sums, out, parallel = sys.argv[1:]
os.environ["HF_ENDPOINT"] = base
from huggingface_hub import hf_hub_download
def fetch(name):
    try: hf_hub_download("set/files", name, local_dir=out)
    except Exception as error: print(name, type(error).__name__, file=sys.stderr)
names = [line.split()[1] for line in open(sums)]
with concurrent.futures.ThreadPoolExecutor(int(parallel)) as pool: list(pool.map(fetch, names))
"""


def right(out: Path, sums: dict[str, str]) -> int:
    """Files below the folder that are whole: each name once, whatever its folder."""
    found = set()
    for path in out.rglob("*"):
        expected = sums.get(path.name.split("-", 1)[-1] if "-" in path.name else path.name)
        if expected and path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == expected:
            found.add(expected)
    return len(found)


def disk(*paths: Path) -> float:
    blocks = sum(os.lstat(file).st_blocks for path in paths for file in [path, *path.rglob("*")])
    return blocks * 512 / 2**20


def run(command: list[str], log: Path) -> tuple[float, int]:
    start = time.monotonic()
    with open(log, "w") as errors:
        try:
            code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=errors, timeout=options.limit).returncode
        except subprocess.TimeoutExpired:
            code = -1
    return time.monotonic() - start, code


heading(f"{options.files} files of {options.bytes} bytes with checksums from a flaky origin", "data-set")
with folder(options.folder, 2) as work:
    root = work / "root"
    root.mkdir()
    sums: dict[str, str] = {}
    for number in range(options.files):
        name = f"{number:04d}.bin"
        write_random(root / name, options.bytes)
        sums[name] = hashlib.sha256((root / name).read_bytes()).hexdigest()
    Flaky.root = root
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    (work / "SHA256SUMS").write_text("".join(f"{sum}  {name}\n" for name, sum in sums.items()))
    (work / "urls").write_text("".join(f"{base}/{name}\n" for name in sums))
    (work / "aria2").write_text(
        "".join(f"{base}/{name}\n  out={name}\n  checksum=sha-256={sum}\n" for name, sum in sums.items()))
    parallel = str(options.parallel)
    contenders: dict[str, list[str]] = {
        "imgcache fetch -i SHA256SUMS": [
            IMGCACHE, "fetch", "-q", "-i", str(work / "SHA256SUMS"), "--base-url", base, "-j", parallel,
            "--cache-dir", "OUT/cache", "-d", "OUT/files"],
        "imgcache fetch -i, in the store": [
            IMGCACHE, "fetch", "-q", "-i", str(work / "SHA256SUMS"), "--base-url", base, "-j", parallel,
            "--cache-dir", "OUT/cache", "--link-mode", "symlink", "-d", "OUT/files"],
        "aria2c -i": [
            "aria2c", "-q", "-i", str(work / "aria2"), "-j", parallel, "-d", "OUT", "--file-allocation=none", "-c",
            "--auto-file-renaming=false", "--check-integrity=true"],
        "aria2c -i --max-tries=0 --retry-wait=1": [
            "aria2c", "-q", "-i", str(work / "aria2"), "-j", parallel, "-d", "OUT", "--file-allocation=none", "-c",
            "--auto-file-renaming=false", "--check-integrity=true", "--max-tries=0", "--retry-wait=1"],
        "wget -x -i -c": ["wget", "-q", "-x", "-c", "-i", str(work / "urls"), "-P", "OUT"],
        "wget -x -i -c --retry-on-http-error=503": [
            "wget", "-q", "-x", "-c", "-i", str(work / "urls"), "-P", "OUT", "--retry-on-http-error=503"],
        "pooch, retry_if_failed=5": [sys.executable, "-c", POOCH, base, str(work / "SHA256SUMS"), "OUT", parallel],
        "huggingface_hub": [sys.executable, "-c", HUB, base, str(work / "SHA256SUMS"), "OUT", parallel],
    }
    rows = []
    for name, command in contenders.items():
        if shutil.which(command[0]) is None:
            continue
        out = work / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        command = [part.replace("OUT", str(out)) if part.startswith("OUT") else part for part in command]
        Flaky.random = random.Random(options.seed)
        Flaky.requests = Flaky.sent = 0
        seconds, code = run(command, work / "log")
        arrived, sent, used = right(out, sums), Flaky.sent, disk(out)
        requests = Flaky.requests
        Flaky.requests = Flaky.sent = 0
        again, _ = run(command, work / "log")
        rows.append([
            f"`{name}`", f"{arrived} of {options.files}", str(code), f"{seconds:.1f}", f"{requests:,}",
            f"{sent / 2**20:.0f}", f"{used:.0f}", f"{again:.1f}", f"{Flaky.requests:,}", f"{Flaky.sent / 2**20:.0f}",
            f"{right(out, sums)} of {options.files}"])
    table(
        ["", "arrived", "exit code", "wall, s", "requests", "body MiB", "disk, MiB", "second run, s", "requests",
         "body MiB", "there then"], rows)
    print(json.dumps({"files": options.files, "bytes": options.bytes, "seed": options.seed}))
