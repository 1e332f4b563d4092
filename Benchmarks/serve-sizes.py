"""40 photos of 1600 × 1000 in many sizes, each (photo, size) once over 32 connections, beside nginx's image_filter and thumbor:
hard photos (grain) and soft ones. Every run begins with empty stores. And how near the pictures come to exact ones before they
are encoded: SSIMULACRA2 against the Lanczos-3 filter over the whole picture."""

import argparse
import random
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import numpy as np
from exact import exact, rounded
from load import Load, once
from measure import heading, ratio, table
from origin import IMGCACHE, folder, nginx
from pictures import photo
from PIL import Image, ImageFilter
from servers import ImgcacheServer, Nginx, Thumbor
from ssimulacra2 import compute_ssimulacra2

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: 3)")
parser.add_argument("--sizes", default="120:520:1", help="the first, the last, and the step (default: 120:520:1)")
parser.add_argument("--order", default="random", choices=["random", "picture", "size"], help="(default: random)")
parser.add_argument("--connections", type=int, default=32, help="(default: 32)")
parser.add_argument("--filter-part", type=int, default=8, help="image_filter gets one in so many requests (default: 8)")
parser.add_argument("--likeness", default="64,100,120,160,200,240,280,320,400,440,480,520,640,800,1024",
                    help="sizes whose likeness is measured; empty: none")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()


def photos(root: Path, kind: str) -> list[str]:
    whole = photo(2400, 1600)
    if kind == "soft":
        whole = whole.filter(ImageFilter.GaussianBlur(1.2))
    names = []
    for number in range(40):
        x, y = number * 20, number % 8 * 75
        names.append(f"{kind}{number}.jpg")
        whole.crop((x, y, x + 1600, y + 1000)).save(root / names[-1], quality=88 if kind == "soft" else 85)
    return names


def compare(kind: str, names: list[str], origin: str, work: Path) -> None:
    first, last, step = map(int, options.sizes.split(":"))
    wanted = [(name, size) for size in range(first, last + 1, step) for name in names]
    if options.order == "random":
        random.Random(1).shuffle(wanted)
    elif options.order == "picture":
        wanted.sort()
    servers = {"nginx": Nginx, "thumbor": Thumbor, "imgcache serve": ImgcacheServer}
    runs: dict[str, list[Load]] = {name: [] for name in servers}
    memory = dict.fromkeys(servers, 0.0)
    for number in range(options.rounds):
        shift = number % len(servers)
        for name in [*servers][shift:] + [*servers][:shift]:
            with servers[name](origin, work) as server:
                part = wanted[::options.filter_part] if name == "nginx" else wanted
                urls = [server.within(*picture) for picture in part]
                runs[name].append(once(server, urls, options.connections, work))
                memory[name] = max(memory[name], server.peak_memory())
    cpu = {name: statistics.median(load.cpu for load in runs[name]) for name in servers}
    rate = {name: statistics.median(load.rate for load in runs[name]) for name in servers}
    table(
        [f"{kind} photos", "requests/s", "of nginx", "of thumbor", "CPU a request, ms", "of nginx", "of thumbor", "peak, MiB"],
        [[f"`{name}`", f"{rate[name]:.0f}", ratio(rate[name], rate["nginx"]), ratio(rate[name], rate["thumbor"]),
          f"{cpu[name] / 1000:.2f}", ratio(cpu[name], cpu["nginx"]), ratio(cpu[name], cpu["thumbor"]),
          f"{memory[name]:.0f}"] for name in servers])


def likeness(file: Path, size: int, work: Path) -> list[str]:
    """Of ours, and of what Pillow makes as thumbor asks it to."""
    out = work / "ours.png"
    out.unlink(missing_ok=True)
    subprocess.run([IMGCACHE, "thumb", str(file), "-o", str(out), "--size", str(size)], check=True, stdout=subprocess.DEVNULL)
    ours = Image.open(out).convert("RGB")
    draft = Image.open(file)
    draft.draft(None, ours.size)
    full = np.asarray(Image.open(file).convert("RGB"))
    Image.fromarray(rounded(exact(full, *ours.size))).save(work / "exact.png")
    draft.convert("RGB").resize(ours.size, Image.LANCZOS).save(work / "draft.png")
    return [f"{compute_ssimulacra2(str(work / 'exact.png'), str(work / name)):.1f}" for name in ("ours.png", "draft.png")]


heading("Many sizes of one photo from a service", "serve-sizes")
with folder(options.tmpfs, 4) as work:
    root = work / "root"
    root.mkdir()
    with nginx(root, expires="1h") as (origin, _):
        found = {kind: photos(root, kind) for kind in ("hard", "soft")}
        for kind, names in found.items():
            print(f"{kind}: {(root / names[0]).stat().st_size / 1000:.0f} KB each\n")
            if options.rounds:
                compare(kind, names, origin, work)
    if options.likeness:
        rows = []
        for size in map(int, options.likeness.split(",")):
            rows.append([str(size)] + [score for names in found.values() for score in likeness(root / names[0], size, work)])
        table(["pixels", "hard: ours", "as thumbor", "soft: ours", "as thumbor"], rows)
