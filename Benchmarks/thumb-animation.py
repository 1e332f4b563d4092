"""One animation, whole process: a GIF of 100 frames of 800 x 600, in which every pixel changes, to an animated WebP 200 px wide.

Quality 80 and effort 4 everywhere (gif2webp writes without loss by default). gifsicle and gif2webp are two processes in a shell that counts with them;
peak memory is the largest process's. Pillow's time includes Python's start.
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
parser.add_argument("--rounds", type=int, default=5, help="runs of each command (default: 5)")
parser.add_argument("--frames", type=int, default=100, help="frames of the animation (default: 100)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()

PEERS = str(Path(__file__).parent / "images/peers.py")


def animation(path: Path) -> None:
    """A window that moves over a photograph."""
    whole = photo(800 + 2 * options.frames, 600 + options.frames)
    frames = [whole.crop((2 * step, step, 2 * step + 800, step + 600)).quantize(256) for step in range(options.frames)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=50, loop=0)


heading("One animation, whole process", "thumb-animation")
with folder(options.tmpfs) as work:
    source, output = work / "in.gif", work / "out.webp"
    animation(source)

    def check() -> None:
        with Image.open(output) as made:
            if made.width != 200 or made.n_frames < options.frames * 0.9:
                raise SystemExit(f"{output}: {made.width} pixels wide, {made.n_frames} frames")

    def size(contender: Contender) -> int:
        contender.prepare()
        peak_memory(contender)
        return output.stat().st_size

    pair = (f"gifsicle --resize-width 200 --resize-method lanczos3 {shlex.quote(str(source))} -o {shlex.quote(str(work / 'small.gif'))} && "
            f"gif2webp -quiet -lossy -q 80 -m 4 {shlex.quote(str(work / 'small.gif'))} -o {shlex.quote(str(output))}")
    commands = {
        "imgcache thumb": [IMGCACHE, "thumb", str(source), "-o", str(output), "--size", "200x", "--quality", "80"],
        "gifsicle && gif2webp": ["sh", "-c", pair],
        "vipsthumbnail": ["vipsthumbnail", f"{source}[n=-1]", "--size", "200x", "-o", f"{output}[Q=80,effort=4,strip]"],
        "ffmpeg": ["ffmpeg", "-loglevel", "error", "-y", "-threads", "1", "-i", str(source), "-vf", "scale=200:-1:flags=lanczos",
                   "-c:v", "libwebp_anim", "-quality", "80", "-compression_level", "4", "-loop", "0", str(output)],
        "Pillow": [sys.executable, PEERS, "pillow-animation", str(source), str(output)],
    }
    runs = [Contender(f"`{name}`", command, prepare=lambda: output.unlink(missing_ok=True), check=check)
            for name, command in commands.items()]
    alternate(runs, options.rounds)
    peaks = {run.name: peak_memory(run) for run in runs}
    sizes = {run.name: size(run) for run in runs}
    cpu = min(run.cpu for run in runs[1:])
    memory = min(peaks[run.name] for run in runs[1:])
    table(
        [f"GIF, {options.frames} frames, {source.stat().st_size / 1e6:.1f} MB", "wall, ms", "CPU, ms", "of the best peer", "peak, MiB",
         "of the best peer", "bytes"],
        [[run.name, f"{run.wall * 1e3:.0f}", f"{run.cpu * 1e3:.0f}", ratio(run.cpu, cpu), f"{peaks[run.name] / 1024:.1f}",
          ratio(peaks[run.name], memory), f"{sizes[run.name]}"] for run in runs],
    )
