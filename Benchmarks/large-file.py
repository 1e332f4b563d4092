"""One file of 1 GiB from nginx on loopback into an empty cache, beside the peers' downloads; and peak memory by size."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, alternate, heading, peak_memory, ratio, table
from origin import IMGCACHE, empty, folder, nginx, write_random

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=7, help="runs of each command (default: 7)")
parser.add_argument("--mebibytes", type=int, default=1024, help="size of the file (default: 1024)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
parser.add_argument("--disk", default="/var/tmp", help="a folder on a disk (default: /var/tmp)")
parser.add_argument("--skip-memory", action="store_true", help="only the times")
options = parser.parse_args()
size = options.mebibytes << 20


def warm(folder: Path, count: int) -> None:
    """Writes so many bytes there and deletes them: in a virtual machine the first touch of a page of memory costs the
    host more than all that is measured here, and whoever comes first after another would pay for it."""
    scratch = folder / "warm"
    with open(scratch, "wb") as file:
        block = bytes(1 << 20)
        for _ in range(count >> 20):
            file.write(block)
    scratch.unlink()


def contenders(url: str, out: Path, original: Path) -> list[Contender]:
    """curl first: the others are compared with it."""
    expected = original.stat().st_size

    def prepare() -> None:
        empty(out)
        os.sync()  # nobody pays for what the one before left to be written
        warm(out, expected + expected // 4)

    def equal(*paths: Path):
        def check() -> None:
            for path in paths:
                found = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
                if not any(p.stat().st_size == expected and subprocess.call(["cmp", "-s", original, p]) == 0 for p in found):
                    raise SystemExit(f"{path} does not hold the file")
        return check

    file, cache = out / "file", out / "cache"
    imgcache = [IMGCACHE, "fetch", "-q", "--cache-dir", str(cache), "--capacity", "16GiB", url]
    return [
        Contender("curl -o", ["curl", "-s", "-o", str(file), url], prepare, equal(file)),
        Contender("imgcache fetch", imgcache, prepare, equal(cache / "bodies")),
        Contender("imgcache fetch -o", [*imgcache, "-o", str(file)], prepare, equal(file, cache / "bodies")),
        Contender("imgcache fetch -o --link-mode hardlink", [*imgcache, "-o", str(file), "--link-mode", "hardlink"], prepare,
                  equal(file, cache / "bodies")),
        Contender("wget2 -O", ["wget2", "-q", "-O", str(file), url], prepare, equal(file)),
        Contender("wget -O", ["wget", "-q", "-O", str(file), url], prepare, equal(file)),
        Contender("aria2c", ["aria2c", "-q", "--file-allocation=none", "-d", str(out), "-o", "file", url], prepare,
                  equal(file)),
    ]


heading(f"{options.mebibytes} MiB from nginx on loopback", "large-file")
with folder(options.tmpfs, 3 * size / 2**30) as origin, folder(options.disk, 2 * size / 2**30) as disk:
    (origin / "root").mkdir()
    write_random(origin / "root/file", size)
    with nginx(origin / "root") as (base, _):
        for name, out in [("to tmpfs", origin / "out"), ("to disk", disk / "out")]:
            runs = contenders(f"{base}/file", out, origin / "root/file")
            alternate(runs, options.rounds)
            empty(out)
            peer = runs[0]
            table(
                [name, "wall, s", "of curl", "CPU, s", "of curl"],
                [[f"`{c.name}`", f"{c.wall:.2f}", ratio(c.wall, peer.wall), f"{c.cpu:.2f}", ratio(c.cpu, peer.cpu)]
                 for c in runs],
            )

        if not options.skip_memory:
            # Sparse files: what is measured is the client, and 4 GiB of noise would be a lot of tmpfs.
            sizes = [100, 1024, 4096]
            for mebibytes in sizes:
                with open(origin / f"root/{mebibytes}", "wb") as file:
                    file.truncate(mebibytes << 20)
            peaks: dict[str, list[int]] = {}
            for mebibytes in sizes:
                for c in contenders(f"{base}/{mebibytes}", disk / "out", origin / f"root/{mebibytes}"):
                    peaks.setdefault(c.name, []).append(peak_memory(c))
            table(
                ["peak memory, MiB", *(f"{mebibytes} MiB" for mebibytes in sizes)],
                [[f"`{name}`", *(f"{peak / 1024:.1f}" for peak in row)] for name, row in peaks.items()],
            )
