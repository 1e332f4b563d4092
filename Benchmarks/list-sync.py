"""A list of many records on loopback: the first sync, a second one without changes, and one after 1 % of the records have changed,
beside a client that loads all records anew."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, heading, peak_memory, run_once, table
from origin import IMGCACHE, folder

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--records", type=int, default=100_000, help="how many (default: 100000)")
parser.add_argument("--bytes", type=int, default=300, help="the text of a record (default: 300)")
parser.add_argument("--page-size", type=int, default=100, help="ids in a page (default: 100)")
parser.add_argument("--command", default=IMGCACHE, help="the command that is measured")
parser.add_argument("--disk", default="/var/tmp", help="a folder on a disk (default: /var/tmp)")
options = parser.parse_args()

# Newest first, as the array lists them.
versions = {number: number for number in range(options.records, 0, -1)}
traffic = {"requests": 0, "bytes": 0, "first": 0.0}


def record(number: int) -> str:
    return json.dumps({"id": number, "version": versions[number], "text": "x" * options.bytes})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlparse(self.path)
        if url.path == "/ids":
            body = json.dumps([{"id": n, "modified": v} for n, v in versions.items()]).encode()
        else:
            body = ("[" + ",".join(record(int(n)) for n in parse_qs(url.query)["ids"][0].split(",")) + "]").encode()
            traffic["first"] = traffic["first"] or time.perf_counter()
        etag = f'"{sha256(body).hexdigest()[:16]}"'
        unchanged = self.headers.get("If-None-Match") == etag
        self.send_response(304 if unchanged else 200)
        self.send_header("ETag", etag)
        if not unchanged:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not unchanged:
            self.wfile.write(body)
        traffic["requests"] += 1
        traffic["bytes"] += 0 if unchanged else len(body)

    def log_message(self, *_: object) -> None:
        pass


def measured(name: str, work) -> list[str]:
    """A row: `work` returns CPU seconds and peak KiB, or nothing where that would say nothing."""
    traffic.update(requests=0, bytes=0, first=0.0)
    start = time.perf_counter()
    cost = work()
    wall = time.perf_counter() - start
    cpu, peak = (f"{cost[0]:.2f}", f"{cost[1] / 1024:.0f}") if cost else ("", "")
    return [name, f"{traffic['requests']:,}", f"{traffic['bytes'] / 2**20:.2f}", f"{wall:.2f}", cpu, peak]


def cost(contender: Contender) -> tuple[float, int]:
    """Runs a command once: CPU seconds and peak KiB, as `/usr/bin/time` has them."""
    with tempfile.NamedTemporaryFile("r") as note:
        subprocess.run(
            ["/usr/bin/time", "-o", note.name, "-f", "%U %S %M", *contender.command], stdout=subprocess.DEVNULL, check=True)
        user, system, peak = note.read().split()[-3:]
    return float(user) + float(system), int(peak)


def naive(base: str) -> None:
    """The array, then all records, page by page, on one connection after the other."""
    ids = [element["id"] for element in json.load(urllib.request.urlopen(f"{base}/ids"))]
    for start in range(0, len(ids), options.page_size):
        part = ",".join(map(str, ids[start : start + options.page_size]))
        json.load(urllib.request.urlopen(f"{base}/page?ids={part}"))


def change(share: float) -> None:
    for number in list(versions)[:: int(1 / share)]:
        versions[number] += 10_000_000


heading(f"A list of {options.records:,} records", "list-sync")
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_address[1]}"
with folder(options.disk, 4) as disk:
    sync = Contender(
        "imgcache sync",
        [options.command, "sync", "bench", "--ids", f"{base}/ids", "--page", f"{base}/page?ids={{ids}}", "--page-size",
         str(options.page_size), "--interval", "0", "--json", "--cache-dir", str(disk / "cache")])
    rows = [measured("a client that loads all", lambda: naive(base))]
    start = time.perf_counter()
    rows.append(measured("`imgcache sync`, the first", lambda: cost(sync)))
    first = traffic["first"] - start
    rows.append(measured("`imgcache sync`, nothing changed", lambda: cost(sync)))
    change(0.01)
    rows.append(measured("a client that loads all, 1 % changed", lambda: naive(base)))
    rows.append(measured("`imgcache sync`, 1 % changed", lambda: cost(sync)))
    table(["", "requests", "MiB", "wall, s", "CPU, s", "peak, MiB"], rows)

    def page(*arguments: str) -> Contender:
        return Contender("list", [options.command, "list", "bench", "--limit", "50", "--json", "--cache-dir",
                                  str(disk / "cache"), *arguments])

    middle = options.records // 2
    cursor = f"n{-versions[list(versions)[middle]] * 1000}.0"
    pages = [("the first page of 50", page()), ("a page of 50 in the middle", page("--after", cursor))]
    table(
        ["", "wall, ms", "CPU, ms", "peak, MiB"],
        [[name, *(f"{min(figures) * 1000:.1f}" for figures in zip(*(run_once(one) for _ in range(10)))),
          f"{peak_memory(one) / 1024:.0f}"] for name, one in pages])
    print(f"The first page of records was asked for {first:.2f} s after the start, by one request for the array; "
          f"the index has {os.path.getsize(disk / 'cache' / 'index.sqlite') / 2**20:.0f} MiB.\n")
server.shutdown()
