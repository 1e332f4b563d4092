"""Hostile images through a service, 8 at a time: what each answers, whether it lives, and the memory that it takes.

The files are the tests' hostile ones: `IMGCACHE_IMAGES` names their folder, else those of TestAssets are taken.
"""

import argparse
import collections
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, table
from origin import folder, nginx
from pictures import images_folder
from servers import ImgcacheServer, Nginx, Thumbor, get

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
parser.add_argument("--peers", action="store_true", help="run the peers too: they may take gigabytes")
options = parser.parse_args()

heading("Hostile images through a service", "serve-hostile")
images = images_folder()
paths = [file["path"] for file in json.loads((images / "manifest.json").read_text())["files"] if file["kind"] == "hostile"]
rows = []
with folder(options.tmpfs, 1) as work, nginx(images, expires="1h") as (origin, _):
    for kind in [ImgcacheServer, *([Nginx, Thumbor] if options.peers else [])]:
        with kind(origin, work) as server:
            def ask(path: str) -> tuple[int, float]:
                start = time.perf_counter()
                return get(server.thumbnail(path), timeout=60)[0], time.perf_counter() - start

            with ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(ask, [path for path in paths if (images / path).exists()]))
            statuses = collections.Counter(status for status, _ in answers)
            rows.append([
                f"`{server.name}`", str(len(answers)),
                ", ".join(f"{count} × {status or 'no answer'}" for status, count in sorted(statuses.items())),
                f"{max(wall for _, wall in answers):.1f}", f"{server.peak_memory():.0f}",
                "yes" if server.is_alive and get(server.plain(paths[0]))[0] == 200 else "no"])
table(["", "files", "answers", "longest, s", "peak, MiB", "serves afterwards"], rows)
