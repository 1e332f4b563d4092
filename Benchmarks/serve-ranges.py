"""Random ranges of a large file through a caching proxy, each compared with the file: nginx with its slice module, and imgcache serve."""

import argparse
import http.client
import os
import random
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, ratio, table
from origin import folder, nginx, write_random
from servers import ImgcacheServer, Nginx, Server

BLOCK = 256 << 10

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: 3)")
parser.add_argument("--mebibytes", type=int, default=1024, help="size of the file (default: 1024)")
parser.add_argument("--ranges", type=int, default=1000, help="number of ranges (default: 1000)")
parser.add_argument("--length", type=int, default=64 << 10, help="bytes of a range (default: 65536)")
parser.add_argument("--connections", type=int, default=2, help="connections of the client (default: 2)")
parser.add_argument("--folder", default="/dev/shm", help="where origin and stores are (default: /dev/shm)")
options = parser.parse_args()


def read(url: str, file: int, offsets: list[int]) -> tuple[float, float]:
    """Reads the ranges over several connections. Returns the wall time, and the median time of a range, in seconds."""
    host, _, path = url.removeprefix("http://").partition("/")
    times: list[float] = []
    wrong: list[int] = []

    def connection(part: list[int]) -> None:
        client = http.client.HTTPConnection(host)
        for offset in part:
            start = time.perf_counter()
            client.request("GET", f"/{path}", headers={"Range": f"bytes={offset}-{offset + options.length - 1}"})
            response = client.getresponse()
            body = response.read()
            times.append(time.perf_counter() - start)
            if response.status != 206 or body != os.pread(file, options.length, offset):
                wrong.append(offset)

    threads = [threading.Thread(target=connection, args=(offsets[index::options.connections],))
               for index in range(options.connections)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.perf_counter() - start
    if wrong or len(times) != len(offsets):
        raise SystemExit(f"{url}: {len(wrong)} wrong ranges, {len(offsets) - len(times)} without a response")
    return wall, statistics.median(times)


def origin_bytes(log: Path) -> int:
    time.sleep(0.2)
    return sum(int(line.split()[1]) for line in log.read_text().splitlines())


heading(f"{options.ranges} random ranges of {options.length} bytes of {options.mebibytes} MiB through a proxy", "serve-ranges")
with folder(options.folder, options.mebibytes / 1024 * 4) as work:
    root = work / "root"
    root.mkdir()
    size = options.mebibytes << 20
    write_random(root / "file", size)
    file = os.open(root / "file", os.O_RDONLY)
    runs: dict[str, list[list[float]]] = {}
    for number in range(options.rounds):
        for kind in [Nginx, ImgcacheServer] if number % 2 else [ImgcacheServer, Nginx]:
            generator = random.Random(number)
            offsets = [generator.randrange(size - options.length) for _ in range(options.ranges)]
            blocks = {block for offset in offsets
                      for block in range(offset // BLOCK, (offset + options.length - 1) // BLOCK + 1)}
            with nginx(root, expires="1h", log=True) as (origin, log), kind(origin, work) as server:
                server: Server
                url = server.ranges("file")
                cold, first = read(url, file, offsets)
                brought = origin_bytes(log)
                before = server.cpu()
                warm, hit = read(url, file, offsets)
                between = server.cpu()
                # In the second pass, the blocks that were stored are verified once.
                later, last = read(url, file, offsets)
                end = server.cpu()
                again = origin_bytes(log) - brought
                runs.setdefault(server.name, []).append([
                    options.ranges / cold, first * 1e3, brought / (len(blocks) * BLOCK), options.ranges / warm,
                    hit * 1e3, (between - before) / options.ranges * 1e6, options.ranges / later, last * 1e3,
                    (end - between) / options.ranges * 1e6, again, server.peak_memory()])
    median = {name: [statistics.median(column) for column in zip(*values)] for name, values in runs.items()}
    peer = median["nginx"]
    table(
        ["", "first pass: ranges/s", "of nginx", "median, ms", "origin bytes of the blocks'", "second pass: ranges/s", "of nginx",
         "median, ms", "CPU, µs", "of nginx", "third pass: ranges/s", "of nginx", "median, ms", "CPU, µs", "of nginx",
         "origin bytes after the first", "peak, MiB"],
        [[f"`{name}`", f"{row[0]:.0f}", ratio(row[0], peer[0]), f"{row[1]:.2f}", f"{row[2]:.3f}", f"{row[3]:.0f}",
          ratio(row[3], peer[3]), f"{row[4]:.2f}", f"{row[5]:.0f}", ratio(row[5], peer[5]), f"{row[6]:.0f}",
          ratio(row[6], peer[6]), f"{row[7]:.2f}", f"{row[8]:.0f}", ratio(row[8], peer[8]), f"{row[9]:.0f}",
          f"{row[10]:.0f}"] for name, row in median.items()])
