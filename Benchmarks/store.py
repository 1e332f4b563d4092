"""The store by itself, at several sizes: open, look-up, hit, commit, evict, each per operation, and memory.

Every round measures each size once, in a process of its own. The bodies are of 1,000 bytes with 400 bytes of metadata:
what is measured is the store, not the disk. A million entries take about 6 GB, and some minutes to be made.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, ratio, table
from package import program

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--sizes", default="1000,100000,1000000", help="entries (default: 1000,100000,1000000)")
parser.add_argument("--rounds", type=int, default=5, help="measurements of each size (default: 5)")
parser.add_argument("--directory", help="where the stores lie, and stay for the next run (default: a temporary folder)")
parser.add_argument("--binary", help="a store-benchmark that is built already")
options = parser.parse_args()

binary = options.binary or program("store")

sizes = [int(size) for size in options.sizes.split(",")]
operations = ["open", "look-up", "hit: look-up, open, touch", "commit", "evict"]

heading("The store by its size", "store")
with tempfile.TemporaryDirectory() as temporary:
    folder = Path(options.directory or temporary)
    folder.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        subprocess.run([binary, "fill", str(folder / str(size)), str(size)], check=True)
    results: dict[int, list[dict]] = {size: [] for size in sizes}
    for number in range(options.rounds):
        shift = number % len(sizes)
        for size in sizes[shift:] + sizes[:shift]:
            command = [binary, "measure", str(folder / str(size)), str(size)]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            results[size].append(json.loads(said))


def median(size: int, operation: str, clock: int) -> float:
    return statistics.median(result[operation][clock] for result in results[size])


first, last = sizes[0], sizes[-1]
for clock, name in [(1, "CPU"), (0, "wall")]:
    table(
        [f"{name}, µs an operation", *(f"{size:,}" for size in sizes), f"{last:,} : {first:,}"],
        [[operation, *(f"{median(size, operation, clock):.1f}" for size in sizes),
          ratio(median(last, operation, clock), median(first, operation, clock))] for operation in operations],
    )
table(
    ["peak memory, MiB", *(f"{size:,}" for size in sizes)],
    [["", *(f"{median(size, 'memory', 0) / 1024:.1f}" for size in sizes)]],
)
