"""Whole-process times: `--version`, and a cached, fresh 20 KB file against curl fetching it from nginx on loopback."""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, alternate, heading, ratio, table
from origin import IMGCACHE, folder, nginx, write_random

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=300, help="runs of each command (default: 300)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()


def report(contenders: list[Contender]) -> None:
    alternate(contenders, options.rounds, warm_up=10)
    peer = contenders[0]
    table(
        ["command", "wall, ms", "of curl", "CPU, ms", "of curl"],
        [[f"`{c.name}`", f"{c.wall * 1e3:.2f}", ratio(c.wall, peer.wall), f"{c.cpu * 1e3:.2f}", ratio(c.cpu, peer.cpu)]
         for c in contenders],
    )


heading("Start and hit", "start-and-hit")
report([Contender("curl --version", ["curl", "--version"]),
        Contender("imgcache --version", [IMGCACHE, "--version"])])

with folder(options.tmpfs) as work:
    (work / "root").mkdir()
    write_random(work / "root/file", 20_000)
    with nginx(work / "root", expires="1h") as (base, _):
        url = f"{base}/file"
        cache = ["--cache-dir", str(work / "cache")]
        path = subprocess.run([IMGCACHE, "fetch", url, *cache], check=True, capture_output=True, text=True).stdout.strip()
        if Path(path).read_bytes() != (work / "root/file").read_bytes():
            raise SystemExit("the cached file is not the origin's")
        hits = [
            Contender("curl -s -o FILE URL", ["curl", "-s", "-o", str(work / "curl.out"), url]),
            Contender("imgcache fetch URL", [IMGCACHE, "fetch", url, *cache]),
            Contender("imgcache fetch -o FILE URL", [IMGCACHE, "fetch", "-o", str(work / "imgcache.out"), url, *cache],
                      prepare=lambda: (work / "imgcache.out").unlink(missing_ok=True)),
        ]
        report(hits)
