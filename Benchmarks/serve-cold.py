"""Thumbnails that nobody has asked for before, over 32 connections: 40 JPEGs of 1.6 megapixels under several names each,
and distinct photos of 12 megapixels, beside nginx's image_filter and thumbor. Every run begins with empty stores."""

import argparse
import shutil
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from load import Load, once
from measure import heading, ratio, table
from origin import folder, nginx
from pictures import photo
from servers import ImgcacheServer, Nginx, Thumbor

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: 3)")
parser.add_argument("--names", type=int, default=5, help="names of each small photo (default: 5)")
parser.add_argument("--large", type=int, default=32, help="distinct photos of 12 megapixels (default: 32)")
parser.add_argument("--connections", type=int, default=32, help="(default: 32)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()


def compare(title: str, paths: list[str], origin: str, work: Path) -> None:
    kinds = [Nginx, Thumbor, ImgcacheServer]
    runs: dict[str, list[Load]] = {}
    memory: dict[str, float] = {}
    for number in range(options.rounds):
        shift = number % len(kinds)
        for kind in kinds[shift:] + kinds[:shift]:
            with kind(origin, work) as server:
                load = once(server, [server.thumbnail(path) for path in paths], options.connections, work)
                runs.setdefault(server.name, []).append(load)
                memory[server.name] = max(memory.get(server.name, 0), server.peak_memory())
    names = ["nginx", "thumbor", "imgcache serve"]
    cpu = {name: statistics.median(load.cpu for load in runs[name]) for name in names}
    rate = {name: statistics.median(load.rate for load in runs[name]) for name in names}
    table(
        [title, "requests/s", "of nginx", "of thumbor", "CPU a request, ms", "of nginx", "of thumbor", "peak, MiB"],
        [[f"`{name}`", f"{rate[name]:.0f}", ratio(rate[name], rate["nginx"]), ratio(rate[name], rate["thumbor"]),
          f"{cpu[name] / 1000:.1f}", ratio(cpu[name], cpu["nginx"]), ratio(cpu[name], cpu["thumbor"]),
          f"{memory[name]:.0f}"] for name in names])


heading("Cold thumbnails from a service", "serve-cold")
with folder(options.tmpfs, 2) as work:
    root = work / "root"
    root.mkdir()
    small, large = photo(2400, 1600), photo(4400, 3300)
    for number in range(40):
        x, y = number * 20, number % 8 * 75
        small.crop((x, y, x + 1600, y + 1000)).save(root / f"s{number}.jpg", quality=85)
    large.crop((0, 0, 4000, 3000)).save(root / "l0.jpg", quality=85)
    for number in range(1, options.large):
        # Files of their own with the same pixels: what differs is where they are.
        shutil.copy(root / "l0.jpg", root / f"l{number}.jpg")
    with nginx(root, expires="1h") as (origin, _):
        names = [f"s{number}.jpg?name={name}" for name in range(options.names) for number in range(40)]
        compare("1.6 megapixels", names, origin, work)
        compare("12 megapixels", [f"l{number}.jpg" for number in range(options.large)], origin, work)
