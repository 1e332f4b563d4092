"""ThumbHash, BlurHash and the dominant colour of photos, beyond the decode: CPU of each from pixels that are at most 100 wide and high.

Beside them the packages blurhash-python (C) and thumbhash-python (Python) of PyPI, from the same pixels. Each round measures every program once, in a process
of its own.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, ratio, table
from origin import folder
from package import program
from pictures import photo

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=7, help="measurements of each (default: 7)")
parser.add_argument("--calls", type=int, default=200, help="calls of a measurement (default: 200)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
parser.add_argument("--binary", help="an images-benchmark that is built already")
options = parser.parse_args()

binary = options.binary or program("images")
peers = str(Path(__file__).parent / "images/peers.py")

heading("Placeholders", "thumb-placeholders")
rows = []
with folder(options.tmpfs) as work:
    for width, height in [(1600, 1000), (4000, 3000)]:
        file = work / f"{width}.jpg"
        photo(width, height).save(file, quality=88)
        commands = {"ours": [binary, "placeholders"], "peers": [sys.executable, peers, "placeholders"]}
        found: dict[str, list[dict]] = {side: [] for side in commands}
        for number in range(options.rounds):
            for side in sorted(commands, reverse=number % 2 == 1):
                said = subprocess.run([*commands[side], str(file), str(options.calls)], check=True, capture_output=True, text=True).stdout
                found[side].append(json.loads(said))
        times = {side: {key: statistics.median(run[key] for run in runs) / 1000 for key in runs[0]} for side, runs in found.items()}
        ours, theirs = times["ours"], times["peers"]
        rows.append([f"{width} × {height}", f"{ours['decode']:.2f}", f"{ours['thumbHash']:.3f}", ratio(ours["thumbHash"], theirs["thumbHash"]),
                     f"{ours['blurHash']:.3f}", ratio(ours["blurHash"], theirs["blurHash"]), f"{ours['dominantColor']:.3f}"])
table(["a JPEG of", "decode, ms", "ThumbHash, ms", "of thumbhash-python", "BlurHash, ms", "of blurhash-python", "dominant colour, ms"], rows)
