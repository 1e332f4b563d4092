"""Two builds of imgcache in turn, such as those before and after a change: CPU and wall time of the second by that of the first.

Each folder has `imgcache` and, for the rows of the service, `imgcache-server` (`scripts/build` leaves both in .build/product)."""

import argparse
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import servers
from load import again, once
from measure import Contender, alternate, heading, ratio, table
from origin import folder, nginx, write_random
from pictures import photo

ROWS = ["start", "many", "large", "thumb", "serve"]
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("before", type=Path, help="the folder of one build")
parser.add_argument("after", type=Path, help="the folder of the other")
parser.add_argument("rows", nargs="*", default=ROWS, help=f"of {', '.join(ROWS)} (default: all)")
parser.add_argument("--rounds", type=int, default=5, help="runs of each command that takes long; 20 times as many hits (default: 5)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()
BUILDS = {"before": options.before, "after": options.after}
results: list[list[str]] = []


def add(title: str, unit: str, before: tuple[float, float], after: tuple[float, float]) -> None:
    """One line of the table, by the pairs of CPU and wall time (or time a request)."""
    results.append([title, f"{before[0]:.2f}", f"{after[0]:.2f}", unit, ratio(after[0], before[0]), ratio(after[1], before[1])])


def compare(title: str, arguments: Callable[[str], list[str]], rounds: int, prepare: Callable[[str], None] = lambda name: None) -> None:
    """A command of both builds; the arguments are those of `imgcache` for a build's name."""
    contenders = [
        Contender(name, [str(build / "imgcache"), *arguments(name)], prepare=lambda name=name: prepare(name))
        for name, build in BUILDS.items()
    ]
    alternate(contenders, rounds, warm_up=2)
    before, after = contenders
    add(title, "ms", (before.cpu * 1e3, before.wall), (after.cpu * 1e3, after.wall))


def server(build: Path, origin: str, work: Path) -> servers.ImgcacheServer:
    work.mkdir(exist_ok=True)
    servers.IMGCACHE = str(build / "imgcache")
    return servers.ImgcacheServer(origin, work)


def start(base: str, work: Path) -> None:
    hits = 20 * options.rounds
    cache = lambda name: ["--cache-dir", str(work / f"hit-{name}")]
    for name, build in BUILDS.items():
        subprocess.run([build / "imgcache", "fetch", f"{base}/many/0", *cache(name)], check=True, capture_output=True)
    compare("`--version`", lambda name: ["--version"], hits)
    compare("a hit", lambda name: ["fetch", f"{base}/many/0", *cache(name)], hits)
    compare("a hit with `-o`", lambda name: ["fetch", "-o", str(work / f"out-{name}"), f"{base}/many/0", *cache(name)], hits,
            lambda name: (work / f"out-{name}").unlink(missing_ok=True))


def many(base: str, work: Path) -> None:
    cache = lambda name: work / f"many-{name}"
    run = lambda *more: lambda name: ["fetch", "-q", *more, "--cache-dir", str(cache(name)), "-i", str(work / "list")]
    compare("5,000 files, all new", run(), options.rounds, lambda name: shutil.rmtree(cache(name), ignore_errors=True))
    compare("5,000 files, all fresh", run(), options.rounds)
    compare("5,000 files, all confirmed", run("--revalidate"), options.rounds)
    compare("`ls` of 5,000", lambda name: ["ls", "--cache-dir", str(cache(name))], 2 * options.rounds)


def large(base: str, work: Path) -> None:
    cache = lambda name: work / f"large-{name}"
    compare("1 GiB", lambda name: ["fetch", "-q", "--cache-dir", str(cache(name)), f"{base}/large"], options.rounds,
            lambda name: [shutil.rmtree(cache(each), ignore_errors=True) for each in BUILDS])
    for name in BUILDS:
        shutil.rmtree(cache(name), ignore_errors=True)


def thumb(base: str, work: Path) -> None:
    out = lambda name: work / f"thumb-{name}.jpg"
    compare("a thumbnail of 12 megapixels",
            lambda name: ["thumb", str(work / "root/big.jpg"), "-o", str(out(name)), "--size", "256", "--quality", "80"],
            3 * options.rounds, lambda name: out(name).unlink(missing_ok=True))


def serve(base: str, work: Path) -> None:
    with server(options.before, base, work / "warm-before") as before, server(options.after, base, work / "warm-after") as after:
        for title, url in [("warm file", lambda s: s.plain("many/0")), ("warm thumbnail", lambda s: s.thumbnail("photo0.jpg"))]:
            loads: dict[str, list] = {"before": [], "after": []}
            for number in range(-1, options.rounds):
                turn = [("before", before), ("after", after)]
                for name, one in turn if number % 2 else turn[::-1]:
                    load = again(one, url(one), 64, 3)
                    if number >= 0:
                        loads[name].append(load)
            median = lambda name: (statistics.median(l.cpu for l in loads[name]), 1 / statistics.median(l.rate for l in loads[name]))
            add(f"service: {title}", "µs", median("before"), median("after"))
    for title, paths in [("cold thumbnail", lambda s: [s.thumbnail(f"photo{i}.jpg") for i in range(40)]),
                         ("cold file", lambda s: [s.plain(f"many/{i}") for i in range(1500)])]:
        loads = {"before": [], "after": []}
        for number in range(options.rounds):
            turn = list(BUILDS.items())
            for name, build in turn if number % 2 else turn[::-1]:
                with server(build, base, work / f"cold-{title}-{name}-{number}") as one:
                    loads[name].append(once(one, paths(one), 16, work))
        median = lambda name: (statistics.median(l.cpu for l in loads[name]), 1 / statistics.median(l.rate for l in loads[name]))
        add(f"service: {title}", "µs", median("before"), median("after"))


heading("Two builds", "two-builds")
with folder(options.tmpfs, 3) as work:
    root = work / "root"
    (root / "many").mkdir(parents=True)
    for number in range(5000):
        write_random(root / f"many/{number}", 20_000)
    if "large" in options.rows:
        write_random(root / "large", 1 << 30)
    photo(4000, 3000).save(root / "big.jpg", quality=88)
    for number in range(40):
        photo(1200 + 8 * number, 900, 3 + number).save(root / f"photo{number}.jpg", quality=85)
    with nginx(root, expires="1h") as (base, _):
        (work / "list").write_text("".join(f"{base}/many/{number}\n" for number in range(5000)))
        for row in options.rows:
            {"start": start, "many": many, "large": large, "thumb": thumb, "serve": serve}[row](base, work)
table(["", "CPU before", "after", "", "CPU, of before", "time, of before"], results)
