"""500 mixed photos to 256 px on two cores: through the library on two threads, Pillow (draft) and pyvips in two processes.

300 are TestAssets' JPEG, PNG and WebP files of at least 100 pixels that all three read, repeated; 200 are synthesised: JPEG
of 2 to 12 megapixels, a quarter of them progressive, and a few PNG and WebP. Peak memory is that of all processes of a
contender together; what they share counts once.
"""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, alternate, heading, peak_of_all, ratio, table
from origin import folder
from package import program
from pictures import assets, photo

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=5, help="runs of each (default: 5)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
parser.add_argument("--binary", help="an images-benchmark that is built already")
options = parser.parse_args()

here = Path(__file__).parent
binary = options.binary or program("images")


def synthesised(work: Path) -> list[Path]:
    picture = photo(4000, 3000)
    paths = []
    for number in range(20):
        width, height = [(4000, 3000), (3264, 2448), (3000, 2000), (2560, 1440), (1600, 1200)][number % 5]
        part = picture.crop((0, 0, width, height)) if number % 2 else picture.crop((4000 - width, 3000 - height, 4000, 3000))
        kind = {7: "png", 13: "png", 8: "webp", 19: "webp"}.get(number, "jpg")
        path = work / f"{number}.{kind}"
        part.save(path, **({"quality": 80 + number % 3 * 5, "progressive": number % 4 == 1} if kind == "jpg" else {}))
        paths.append(path)
    return paths


def everybody_reads(paths: list[Path], work: Path) -> list[Path]:
    """Those of which all three make a thumbnail."""
    sys.path.insert(0, str(here / "images"))
    import peers

    def reads(path: Path) -> bool:
        (work / "one").write_text(f"{path}\n")
        for make in (peers.pillow, peers.pyvips):
            try:
                make(str(path), str(work / "probe.jpg"))
            except Exception:
                return False
        return subprocess.run([binary, "batch", str(work / "one"), str(work)], capture_output=True).returncode == 0

    return [path for path in paths if reads(path)]


heading("500 photos", "thumb-batch")
with folder(options.tmpfs) as work:
    (work / "out").mkdir()
    large = synthesised(work)
    small = everybody_reads(assets(), work)
    mix = [small[number % len(small)] for number in range(300)] + [large[number % len(large)] for number in range(200)]
    # Small and large in turn, in an order that both halves of a list share.
    mix = [mix[number * 307 % 500] for number in range(500)]
    (work / "list").write_text("".join(f"{path}\n" for path in mix))
    print(f"{len(small)} files of TestAssets and {len(large)} synthesised ones, "
          f"{sum(path.stat().st_size for path in mix) / 2**20:.0f} MiB in all\n")

    def empty() -> None:
        for path in (work / "out").iterdir():
            path.unlink()

    def check() -> None:
        if len(list((work / "out").iterdir())) != 500:
            raise SystemExit("not 500 thumbnails")

    arguments = [str(work / "list"), str(work / "out")]
    peers = str(here / "images/peers.py")
    runs = [
        Contender("imgcache, 2 threads", [binary, "batch", *arguments], empty, check),
        Contender("Pillow with draft, 2 processes", [sys.executable, peers, "pillow-batch", *arguments], empty, check),
        Contender("pyvips, 2 processes", [sys.executable, peers, "pyvips-batch", *arguments], empty, check),
    ]
    alternate(runs, options.rounds, warm_up=0)
    peaks = {run.name: peak_of_all(run) for run in runs}
    best = min(run.cpu for run in runs[1:])
    best_wall = min(run.wall for run in runs[1:])
    table(
        ["", "wall, s", "of the best peer", "CPU, s", "of the best peer", "peak, MiB"],
        [[run.name, f"{run.wall:.2f}", ratio(run.wall, best_wall), f"{run.cpu:.2f}", ratio(run.cpu, best),
          f"{peaks[run.name] / 1024:.0f}"] for run in runs],
    )
