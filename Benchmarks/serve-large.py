"""A cold 1 GiB file through a caching proxy to one client: nginx's proxy_cache, and imgcache serve."""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, ratio, table
from origin import folder, nginx, write_random
from servers import ImgcacheServer, Nginx

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: 3)")
parser.add_argument("--mebibytes", type=int, default=1024, help="size (default: 1024)")
parser.add_argument("--folder", default="/var/tmp", help="where origin and stores are (default: /var/tmp)")
options = parser.parse_args()

heading(f"A cold file of {options.mebibytes} MiB through a proxy", "serve-large")
with folder(options.folder, options.mebibytes / 1024 * 4) as work:
    root = work / "root"
    root.mkdir()
    size = options.mebibytes << 20
    write_random(root / "file", size)
    runs: dict[str, list[tuple[float, float, float]]] = {}
    with nginx(root, expires="1h") as (origin, _):
        for number in range(options.rounds):
            for kind in [Nginx, ImgcacheServer] if number % 2 else [ImgcacheServer, Nginx]:
                os.sync()
                with kind(origin, work) as server:
                    start = time.perf_counter()
                    got = subprocess.run(
                        ["curl", "-s", "-o", "/dev/null", "-w", "%{size_download}", server.plain("file")],
                        capture_output=True, text=True, check=True).stdout
                    wall = time.perf_counter() - start
                    if int(got) != size:
                        raise SystemExit(f"{server.name}: {got} bytes of {size}")
                    runs.setdefault(server.name, []).append((wall, server.cpu(), server.peak_memory()))
    median = {name: [statistics.median(column) for column in zip(*values)] for name, values in runs.items()}
    peer = median["nginx"]
    table(
        ["", "MiB/s", "of nginx", "CPU, s", "of nginx", "peak, MiB"],
        [[f"`{name}`", f"{options.mebibytes / wall:.0f}", ratio(peer[0], wall), f"{cpu:.2f}", ratio(cpu, peer[1]),
          f"{peak:.0f}"] for name, (wall, cpu, peak) in median.items()])
