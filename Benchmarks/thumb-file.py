"""One thumbnail, whole process: 12 and 24-megapixel JPEG, baseline and progressive, and a 4-megapixel PNG, to 256 px.

The floor is libjpeg's own `djpeg -scale 1/8 | cjpeg`, which only averages blocks (its result is larger than 256 px), in a
shell that counts with it. Peak memory is the largest process's. Pillow's time includes Python's start.
"""

import argparse
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, alternate, heading, peak_memory, ratio, table
from origin import IMGCACHE, folder
from pictures import photo

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=15, help="runs of each command (default: 15)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()

PEERS = str(Path(__file__).parent / "images/peers.py")


def contenders(file: Path, output: Path) -> list[Contender]:
    source, target = str(file), str(output)

    def check() -> None:
        if output.stat().st_size < 1000:
            raise SystemExit(f"{output}: no thumbnail")

    floor = f"djpeg -scale 1/8 {shlex.quote(source)} | cjpeg -quality 80 > {shlex.quote(target)}"
    commands = {
        "imgcache thumb": [IMGCACHE, "thumb", source, "-o", target, "--size", "256", "--quality", "80"],
        "djpeg -scale 1/8 \\| cjpeg": ["sh", "-c", floor],
        "vipsthumbnail": ["vipsthumbnail", source, "--size", "256x256", "-o", f"{target}[Q=80,strip]"],
        "gm convert -size": ["gm", "convert", "-size", "256x256", source, "-thumbnail", "256x256", "-quality", "80",
                             target],
        "Pillow, draft": [sys.executable, PEERS, "pillow", source, target],
        "ImageMagick, jpeg:size": ["convert-im6.q16", "-define", "jpeg:size=512x512", source, "-thumbnail", "256x256",
                                   "-quality", "80", target],
    }
    if file.suffix == ".png":
        del commands["djpeg -scale 1/8 \\| cjpeg"]
    return [Contender(name, command, prepare=lambda: output.unlink(missing_ok=True), check=check)
            for name, command in commands.items()]


heading("One thumbnail, whole process", "thumb-file")
with folder(options.tmpfs) as work:
    pictures: dict[str, Path] = {}
    for megapixels, size in ((12, (4000, 3000)), (24, (6000, 4000))):
        picture = photo(*size)
        for kind in ("baseline", "progressive"):
            path = work / f"{megapixels}-{kind}.jpg"
            picture.save(path, quality=88, progressive=kind == "progressive")
            pictures[f"{megapixels} megapixels, {kind} JPEG"] = path
    pictures["4 megapixels, PNG"] = work / "4.png"
    photo(2304, 1728).save(pictures["4 megapixels, PNG"])
    del picture

    for title, path in pictures.items():
        runs = contenders(path, work / "out.jpg")
        alternate(runs, options.rounds)
        peaks = {run.name: peak_memory(run) for run in runs}
        best = min(run.cpu for run in runs[(1 if path.suffix == ".png" else 2):])
        floor = best if path.suffix == ".png" else runs[1].cpu
        table(
            [f"{title}, {path.stat().st_size / 1e6:.1f} MB", "wall, ms", "CPU, ms",
             *([] if path.suffix == ".png" else ["of the floor"]), "of the best peer", "peak, MiB"],
            [[f"`{run.name}`" if run.name[0].islower() else run.name, f"{run.wall * 1e3:.0f}", f"{run.cpu * 1e3:.1f}",
              *([] if path.suffix == ".png" else [ratio(run.cpu, floor)]), ratio(run.cpu, best),
              f"{peaks[run.name] / 1024:.1f}"] for run in runs],
        )
