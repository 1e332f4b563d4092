"""Eight processes fetch one list into one cache, and one of them is killed and started again every few tenths of a second.

The peer is the same without kills. At the end every file must be there, with the origin's bytes.
"""

import argparse
import hashlib
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, ratio, table
from origin import IMGCACHE, folder, nginx, set_aside, write_random

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--files", type=int, default=5000, help="how many (default: 5000)")
parser.add_argument("--bytes", type=int, default=20_000, help="size of each (default: 20000)")
parser.add_argument("--processes", type=int, default=8, help="how many (default: 8)")
parser.add_argument("--every", type=float, default=0.2, help="seconds between kills (default: 0.2)")
parser.add_argument("--rounds", type=int, default=3, help="runs of each kind (default: 3)")
parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the choice whom to kill")
parser.add_argument("--folder", default="/dev/shm", help="where all of it lies (default: /dev/shm)")
options = parser.parse_args()
choice = random.Random(options.seed)


def run(work: Path, every: float | None) -> tuple[float, int]:
    """The seconds until one process has all files, and the number of kills."""
    cache, kills = work / "cache", 0
    set_aside(cache)
    command = [IMGCACHE, "fetch", "-q", "--cache-dir", str(cache), "-i", str(work / "urls")]

    def begin() -> subprocess.Popen:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    start = time.perf_counter()
    running = [begin() for _ in range(options.processes)]
    next_kill = start + (every or 0)
    while True:
        ended = [process for process in running if process.poll() is not None]
        if any(process.returncode != 0 for process in ended):
            raise SystemExit(f"exit {[process.returncode for process in ended]}")
        if ended:
            break
        if every and time.perf_counter() >= next_kill:
            victim = choice.randrange(len(running))
            running[victim].send_signal(signal.SIGKILL)
            running[victim].wait()
            running[victim] = begin()
            kills += 1
            next_kill += every
        time.sleep(0.002)
    wall = time.perf_counter() - start
    for process in running:
        process.kill()
        process.wait()
    paths = subprocess.run([*command, "--offline"], capture_output=True, text=True, check=True).stdout.splitlines()
    expected = [hashlib.sha256(path.read_bytes()).digest() for path in sorted((work / "root").iterdir())]
    if [hashlib.sha256(Path(path).read_bytes()).digest() for path in paths] != expected:
        raise SystemExit("not the origin's files")
    return wall, kills


heading(f"{options.processes} processes on one list of {options.files} files of {options.bytes} bytes, killed at random", "killed-list")
with folder(options.folder, 2) as work:
    (work / "root").mkdir()
    for number in range(options.files):
        write_random(work / "root" / f"f{number:05d}", options.bytes)
    with nginx(work / "root", expires="1h") as (base, _):
        (work / "urls").write_text("".join(f"{base}/f{number:05d}\n" for number in range(options.files)))
        runs = [(run(work, None), run(work, options.every)) for _ in range(options.rounds)]
alone, killed = (statistics.median(pair[index][0] for pair in runs) for index in (0, 1))
table(["to tmpfs", "files/s", "of the rate without kills", "kills"],
      [["without kills", f"{options.files / alone:,.0f}", "1.00", "0"],
       [f"one killed every {options.every} s", f"{options.files / killed:,.0f}", ratio(alone, killed),
        f"{statistics.median(pair[1][1] for pair in runs):.0f}"]])
print(f"Seed {options.seed}; every file had the origin's bytes.\n")
