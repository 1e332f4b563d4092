"""The store by itself, at several sizes: open, look-up, hit, commit, evict, each per operation; memory; and bytes on disk.

Every round measures each size once, in a process of its own, when the index is in the page cache and the bodies are on the
disk. The bodies are of 1,000 bytes with 400 bytes of metadata: what is measured is the store, not the disk. A million entries take
about 6 GB, and two minutes to be made. Bytes on disk for each byte of content are those of 100,000 bodies of 20,000 bytes.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, ratio, table
from package import program

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--sizes", default="1000,100000,1000000", help="entries (default: 1000,100000,1000000)")
parser.add_argument("--rounds", type=int, default=5, help="measurements of each size (default: 5)")
parser.add_argument("--space", type=int, default=100_000, help="bodies of 20,000 bytes, for their space (default: 100,000)")
parser.add_argument("--directory", help="where the stores lie, and stay for the next run (default: a temporary folder)")
parser.add_argument("--binary", help="a store-benchmark that is built already")
options = parser.parse_args()

binary = options.binary or program("store")

sizes = [int(size) for size in options.sizes.split(",")]
operations = ["open", "look-up", "hit", "confirm", "commit", "commit together", "evict"]
names = {"open": "open and first look-up", "hit": "hit: look-up, open, touch", "confirm": "confirm (304), 64 at a time",
         "commit together": "commit, 64 at a time"}


def said(*command: object) -> dict:
    return json.loads(subprocess.run([binary, *map(str, command)], check=True, capture_output=True, text=True).stdout)


def warm(index: Path) -> None:
    with index.open("rb") as file:
        while file.read(1 << 20):
            pass


heading("The store by its size", "store")
with tempfile.TemporaryDirectory() as temporary:
    folder = Path(options.directory or temporary)
    folder.mkdir(parents=True, exist_ok=True)
    fills = []
    for size in sizes:
        start = time.monotonic()
        subprocess.run([binary, "fill", str(folder / str(size)), str(size)], check=True)
        fills.append(f"{size:,} entries in {time.monotonic() - start:.0f} s")
    results: dict[int, list[dict]] = {size: [] for size in sizes}
    for number in range(options.rounds):
        shift = number % len(sizes)
        for size in sizes[shift:] + sizes[:shift]:
            warm(folder / str(size) / "index.sqlite")
            results[size].append(said("measure", folder / str(size), size))
    space = {"1,000 bytes": (sizes[-1], said("space", folder / str(sizes[-1]), sizes[-1], 1000))}
    if options.space:
        large = folder / "space"
        subprocess.run([binary, "fill", str(large), str(options.space), "20000"], check=True)
        space["20,000 bytes"] = (options.space, said("space", large, options.space, 20_000))

print(f"\nMade: {', '.join(fills)}.\n")


def median(size: int, operation: str, clock: int) -> float:
    return statistics.median(result[operation][clock] for result in results[size])


first, last = sizes[0], sizes[-1]
for clock, name in [(1, "CPU"), (0, "wall")]:
    table(
        [f"{name}, µs an operation", *(f"{size:,}" for size in sizes), f"{last:,} : {first:,}"],
        [[names.get(operation, operation), *(f"{median(size, operation, clock):.1f}" for size in sizes),
          ratio(median(last, operation, clock), median(first, operation, clock))] for operation in operations],
    )
table(
    ["peak memory, MiB", *(f"{size:,}" for size in sizes)],
    [["", *(f"{median(size, 'memory', 0) / 1024:.1f}" for size in sizes)]],
)
table(
    ["bodies", "number", "bodies on disk, a byte of content", "with the index", "index, bytes an entry"],
    [[name, f"{count:,}", f"{found['bodies']:.3f}", f"{found['all']:.3f}", f"{found['index bytes an entry']:.0f}"]
     for name, (count, found) in space.items()],
)
