"""Cold thumbnails with decoders in worker processes, by the same without: CPU with 16 connections, and the time of one after the other. Every run
begins with an empty store."""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from load import once
from measure import heading, ratio, table
from origin import folder, nginx
from pictures import photo
from servers import ImgcacheServer

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=7, help="pairs of runs (default: 7)")
parser.add_argument("--names", type=int, default=5, help="names of each photo (default: 5)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()
rows: list[list[str]] = []


def compare(title: str, paths: list[str], origin: str, work: Path) -> None:
    cpu: dict[str, list[float]] = {"on": [], "off": []}
    wall: dict[str, list[float]] = {"on": [], "off": []}
    for number in range(options.rounds):
        for side in ["on", "off"] if number % 2 else ["off", "on"]:
            for connections in [16, 1]:
                with ImgcacheServer(origin, work, "--isolate-decoders", side) as server:
                    # The libraries, and the first worker, are not what is measured.
                    once(server, [server.thumbnail(f"first.jpg?{each}") for each in range(8)], 4, work)
                    load = once(server, [server.thumbnail(path) for path in paths], connections, work)
                if connections == 16:
                    cpu[side].append(load.cpu / 1000)
                else:
                    wall[side].append(1000 / load.rate)
    on, off = (statistics.median(cpu[side]) for side in ["on", "off"])
    pairs = statistics.median(one / other for one, other in zip(cpu["on"], cpu["off"]))
    with_workers, without = (statistics.median(wall[side]) for side in ["on", "off"])
    rows.append([title, f"{off:.2f}", f"{on:.2f}", ratio(on, off), f"{pairs:.3f}", f"{without:.2f}", f"{with_workers:.2f}",
                 f"{with_workers - without:+.2f}"])


heading("What isolated decoders cost", "serve-isolation")
with folder(options.tmpfs, 2) as work:
    root = work / "root"
    root.mkdir()
    photo(1200, 900).save(root / "first.jpg", quality=85)
    small, large = photo(2400, 1600), photo(4400, 3300)
    for number in range(40):
        x, y = number * 20, number % 8 * 75
        small.crop((x, y, x + 1600, y + 1000)).save(root / f"s{number}.jpg", quality=85)
        small.crop((x, y, x + 640, y + 480)).save(root / f"t{number}.jpg", quality=85)
    for number in range(8):
        large.crop((number * 40, number * 30, number * 40 + 4000, number * 30 + 3000)).save(root / f"l{number}.jpg", quality=85)
    with nginx(root, expires="1h") as (origin, _):
        names = range(options.names)
        compare("0.3 megapixels", [f"t{number}.jpg?name={name}" for name in names for number in range(40)], origin, work)
        compare("1.6 megapixels", [f"s{number}.jpg?name={name}" for name in names for number in range(40)], origin, work)
        compare("12 megapixels", [f"l{number}.jpg?name={name}" for name in names for number in range(8)], origin, work)
table(["a cold thumbnail", "CPU off, ms", "CPU on, ms", "on / off", "of pairs", "time off, ms", "time on, ms", "difference, ms"], rows)
