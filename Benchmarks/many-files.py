"""5,000 files of 20 KB named in one list, from nginx on loopback: into an empty cache or folder, and once more."""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, alternate, heading, peak_memory, ratio, run_once, table
from origin import IMGCACHE, folder, nginx, set_aside, write_random

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=7, help="runs of each command (default: 7)")
parser.add_argument("--files", type=int, default=5000, help="how many (default: 5000)")
parser.add_argument("--bytes", type=int, default=20_000, help="size of each (default: 20000)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
parser.add_argument("--disk", default="/var/tmp", help="a folder on a disk (default: /var/tmp)")
options = parser.parse_args()


def contenders(urls: Path, curl_urls: Path, out: Path) -> list[Contender]:
    def prepare() -> None:
        set_aside(out)
        os.sync()

    def check() -> None:
        whole = sum(1 for path in out.rglob("*") if path.is_file() and path.stat().st_size == options.bytes)
        if whole < options.files:
            raise SystemExit(f"{whole} of {options.files} files arrived in {out}")

    imgcache = [IMGCACHE, "fetch", "-q", "--cache-dir", str(out), "-i", str(urls)]
    return [
        Contender("wget2 -i, 16 threads", ["wget2", "-q", "--max-threads=16", "-P", str(out), "-i", str(urls)],
                  prepare, check),
        Contender("curl --parallel --parallel-max 50",
                  ["curl", "-s", "--parallel", "--parallel-max", "50", "--remote-name-all", "--output-dir", str(out),
                   "-K", str(curl_urls)], prepare, check),
        Contender("aria2c -i -j16", ["aria2c", "-q", "-j16", "--file-allocation=none", "-d", str(out), "-i", str(urls)],
                  prepare, check),
        Contender("imgcache fetch -i", imgcache, prepare, check),
        Contender("imgcache fetch -i -j 16", [*imgcache, "-j", "16"], prepare, check),
        Contender("imgcache fetch -i -d", [*imgcache, "-d", str(out / "files")], prepare, check),
    ]


def again(urls: Path, out: Path) -> list[Contender]:
    """Runs over a cache that has all of the files."""
    imgcache = [IMGCACHE, "fetch", "-q", "--cache-dir", str(out), "-i", str(urls)]
    into = [*imgcache, "-d", str(out.with_name("files"))]

    def prepare() -> None:
        set_aside(out.with_name("files"))

    return [
        Contender("again, all fresh", imgcache),
        Contender("again, all fresh, -d", into, prepare),
        Contender("again, all 304", [*imgcache, "--revalidate"]),
        Contender("again, all 304, -d", [*into, "--revalidate"], prepare),
    ]


heading(f"{options.files} files of {options.bytes} bytes from one list", "many-files")
with folder(options.tmpfs, 6) as origin, folder(options.disk, 6) as disk:
    (origin / "root").mkdir()
    names = [f"f{number:05d}" for number in range(options.files)]
    for name in names:
        write_random(origin / "root" / name, options.bytes)
    with nginx(origin / "root", expires="1h") as (base, _):
        urls, curl_urls = origin / "urls", origin / "curl-urls"
        urls.write_text("".join(f"{base}/{name}\n" for name in names))
        curl_urls.write_text("".join(f'url = "{base}/{name}"\n' for name in names))
        for name, out in [("to tmpfs", origin / "out"), ("to disk", disk / "out")]:
            runs = contenders(urls, curl_urls, out)
            alternate(runs, options.rounds)
            best = min(c.wall for c in runs if not c.name.startswith("imgcache"))
            table(
                [name, "files/s", "of the best peer", "wall, s", "CPU, s", "peak, MiB"],
                [[f"`{c.name}`", f"{options.files / c.wall:,.0f}", ratio(best, c.wall), f"{c.wall:.2f}", f"{c.cpu:.2f}",
                  f"{peak_memory(c) / 1024:.0f}"] for c in runs],
            )
        set_aside(origin / "out")
        runs = again(urls, origin / "out")
        run_once(Contender("first", runs[0].command))
        alternate(runs, options.rounds)
        table(
            ["to tmpfs", "wall, s", "CPU, µs a file", "of the one above"],
            [[f"`{c.name}`", f"{c.wall:.2f}", f"{c.cpu / options.files * 1e6:.0f}",
              ratio(c.cpu, runs[number - 1].cpu) if number % 2 else ""] for number, c in enumerate(runs)],
        )
