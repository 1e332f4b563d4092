"""What a call costs that memory answers: `cache.thumbnail` and `cache.image`, µs a call on one thread.

The first call fetches the original from nginx on loopback, fresh for an hour; those that are measured ask for nothing.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, table
from origin import folder, nginx
from package import program
from pictures import photo

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=5, help="processes (default: 5)")
parser.add_argument("--calls", type=int, default=100_000, help="calls of each kind in a process (default: 100,000)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
parser.add_argument("--binary", help="an images-benchmark that is built already")
options = parser.parse_args()

binary = options.binary or program("images")

heading("Answered from memory", "thumb-warm")
with folder(options.tmpfs) as work:
    (work / "root/library").mkdir(parents=True)
    photo(1600, 1200).save(work / "root/library/original.jpg", quality=85)
    with nginx(work / "root", expires="1h") as (base, _):
        command = [binary, "warm", str(work / "cache"), f"{base}/library/original.jpg", str(options.calls)]
        said = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                for _ in range(options.rounds)]
table(
    ["call", "wall, µs", "CPU, µs"],
    [[f"`{name}`", *(f"{statistics.median(one[name][clock] for one in said):.2f}" for clock in range(2))]
     for name in sorted(said[0], reverse=True)],
)
