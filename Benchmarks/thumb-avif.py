"""AVIF in and out, whole process.

In: an AVIF of 12 megapixels to a JPEG of 256 px, quality 80. Peak memory is the largest process's; Pillow's time includes Python's start.
Out: photos at 256 px as AVIF, WebP and JPEG of several qualities, which are JPEG's scale for all: bytes, and SSIMULACRA2 (100: the same) against the
lossless thumbnail of the same size, means over the photos; CPU of the process for a photo of 12 megapixels, a JPEG.
"""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import numpy as np
from measure import Contender, alternate, heading, peak_memory, ratio, table
from origin import IMGCACHE, folder
from pictures import assets, images_folder, photo
from PIL import Image
from ssimulacra2 import compute_ssimulacra2

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=9, help="runs of each command (default: 9)")
parser.add_argument("--photos", type=int, default=12, help="photos that are encoded (default: 12)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()

PEERS = str(Path(__file__).parent / "images/peers.py")
FORMATS = {"AVIF": "avif", "WebP": "webp", "JPEG": "jpg"}
QUALITIES = (60, 80, 90)


def decode() -> None:
    source, output = work / "in.avif", work / "out.jpg"
    picture.save(work / "in.png", compress_level=1)
    subprocess.run(["avifenc", "--speed", "8", "--min", "20", "--max", "30", "--yuv", "420", "--jobs", "all", str(work / "in.png"), str(source)],
                   check=True, stdout=subprocess.DEVNULL)

    def check() -> None:
        if max(Image.open(output).size) != 256:
            raise SystemExit(f"{output}: {Image.open(output).size}")

    commands = {
        "imgcache thumb": [IMGCACHE, "thumb", str(source), "-o", str(output), "--size", "256", "--quality", "80"],
        "vipsthumbnail": ["vipsthumbnail", str(source), "--size", "256x256", "-o", f"{output}[Q=80,strip]"],
        "Pillow": [sys.executable, PEERS, "pillow", str(source), str(output)],
    }
    runs = [Contender(f"`{name}`", command, prepare=lambda: output.unlink(missing_ok=True), check=check)
            for name, command in commands.items()]
    alternate(runs, options.rounds)
    peaks = {run.name: peak_memory(run) for run in runs}
    table(
        [f"AVIF, 12 megapixels, {source.stat().st_size / 1e6:.1f} MB", "wall, ms", "CPU, ms", "of vipsthumbnail", "peak, MiB", "of vipsthumbnail"],
        [[run.name, f"{run.wall * 1e3:.0f}", f"{run.cpu * 1e3:.0f}", ratio(run.cpu, runs[1].cpu), f"{peaks[run.name] / 1024:.1f}",
          ratio(peaks[run.name], peaks[runs[1].name])] for run in runs])


def photos() -> list[Path]:
    found = [path for path in assets(images_folder(), smallest=512) if path.suffix == ".jpg" and Image.open(path).mode == "RGB"]
    found = found[:: max(1, len(found) // options.photos)][: options.photos]
    for seed in range(options.photos - len(found)):
        path = work / f"photo-{seed}.jpg"
        photo(1600, 1200, seed).save(path, quality=95)
        found.append(path)
    return found


def thumbnail(file: Path, output: Path, *more: str) -> None:
    # Some of the photos are damaged.
    subprocess.run([IMGCACHE, "thumb", str(file), "-o", str(output), "--size", "256", "--allow-truncated", *more], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def encode() -> None:
    large, files = work / "large.jpg", photos()
    picture.save(large, quality=88)
    cases = [(name, quality) for quality in QUALITIES for name in FORMATS]
    runs = [Contender(f"{name}, {quality}", [IMGCACHE, "thumb", str(large), "-o", str(work / f"out.{FORMATS[name]}"), "--size", "256", "--quality",
                                             str(quality)], prepare=lambda name=name: (work / f"out.{FORMATS[name]}").unlink(missing_ok=True))
            for name, quality in cases]
    alternate(runs, options.rounds)
    found: dict[tuple, list] = {case: [] for case in cases}
    for file in files:
        thumbnail(file, work / "exact.png")
        for case in cases:
            output = work / f"thumbnail.{FORMATS[case[0]]}"
            thumbnail(file, output, "--quality", str(case[1]))
            Image.open(output).convert("RGB").save(work / "result.png")
            found[case].append((output.stat().st_size, compute_ssimulacra2(str(work / "exact.png"), str(work / "result.png"))))
    means = {case: np.mean(values, axis=0) for case, values in found.items()}
    table(
        [f"256 px, {len(files)} photos", "bytes", "of JPEG", "SSIMULACRA2", "CPU, ms"],
        [[f"{name}, quality {quality}", f"{means[name, quality][0]:.0f}", ratio(means[name, quality][0], means["JPEG", quality][0]),
          f"{means[name, quality][1]:.1f}", f"{run.cpu * 1e3:.1f}"] for (name, quality), run in zip(cases, runs)])


heading("AVIF in and out", "thumb-avif")
picture = photo(4000, 3000)
with folder(options.tmpfs) as work:
    decode()
    encode()
