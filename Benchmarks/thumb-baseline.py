"""Thumbnails of baseline JPEGs that are decoded at 1/8, to 256 px, beside `djpeg -scale 1/8 | cjpeg`: by megapixels, quality, chroma,
and how much of a picture there is in a byte.
"""

import argparse
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, alternate, heading, peak_memory, ratio, table
from origin import IMGCACHE, folder
from pictures import photo
from PIL import Image

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=9, help="runs of each command (default: 9)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()

CHROMA = {"4:2:0": 2, "4:2:2": 1, "4:4:4": 0}


def contenders(file: Path, output: Path) -> list[Contender]:
    source, target = str(file), str(output)

    def check() -> None:
        if output.stat().st_size < 1000:
            raise SystemExit(f"{output}: no thumbnail")

    floor = f"djpeg -scale 1/8 {shlex.quote(source)} | cjpeg -quality 80 > {shlex.quote(target)}"
    commands = [[IMGCACHE, "thumb", source, "-o", target, "--size", "256", "--quality", "80"], ["sh", "-c", floor]]
    return [Contender(command[0], command, prepare=lambda: output.unlink(missing_ok=True), check=check)
            for command in commands]


heading("Thumbnails of baseline JPEGs", "thumb-baseline")
rows: list[list[str]] = []
with folder(options.tmpfs) as work:
    for size in ((4000, 3000), (6000, 4000)):
        sharp = photo(*size)
        soft = photo(size[0] // 2, size[1] // 2, seed=2).resize(size, Image.Resampling.BICUBIC)
        for name, picture, quality, chroma, optimized in (
            ("sharp", sharp, 75, "4:2:0", False),
            ("sharp", sharp, 88, "4:2:0", False),
            ("sharp", sharp, 88, "4:2:0", True),
            ("sharp", sharp, 95, "4:2:0", False),
            ("sharp", sharp, 88, "4:2:2", False),
            ("sharp", sharp, 88, "4:4:4", False),
            ("sharp", sharp.convert("L"), 88, "gray", False),
            ("soft", soft, 88, "4:2:0", False),
            ("soft", soft, 95, "4:2:0", True),
        ):
            path = work / "picture.jpg"
            sampling = {"subsampling": CHROMA[chroma]} if chroma in CHROMA else {}
            picture.save(path, quality=quality, optimize=optimized, **sampling)
            ours, floor = contenders(path, work / "out.jpg")
            alternate([ours, floor], options.rounds)
            rows.append([
                f"{size[0] * size[1] // 1_000_000} megapixels, {name}, {chroma}, quality {quality}"
                + (", optimized" if optimized else ""),
                f"{path.stat().st_size / 1e6:.1f}", f"{ours.cpu * 1e3:.1f}", f"{floor.cpu * 1e3:.1f}",
                ratio(ours.cpu, floor.cpu), f"{peak_memory(ours) / 1024:.1f}"])
table(["", "MB", "`imgcache thumb`: CPU, ms", "`djpeg -scale 1/8 \\| cjpeg`", "of it", "peak, MiB"], rows)
