"""SIGKILL at the middle of a download, then the same command again: bytes fetched again, and are they the right ones?

A proxy before nginx passes exactly one half (and an odd number of bytes more, so that no block ends there) and then
nothing; when the client has read all of that from its socket, it is killed. What the second run is sent is the body
bytes in nginx's log. Fetched again: first run + second run - size. Then the same with the file replaced, by one of the
same size, between the runs.
"""

import argparse
import filecmp
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, table
from origin import IMGCACHE, empty, folder, nginx, write_random
from proxy import StoppingProxy

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--mebibytes", type=int, default=1024, help="size of the file (default: 1024)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()
size = options.mebibytes << 20
first_half = size // 2 + 100_003


@dataclass
class Client:
    name: str
    command: Callable[[str, Path], list[str]]
    prints_path: bool = False


clients = [
    Client("imgcache fetch", lambda url, out: [IMGCACHE, "fetch", "-q", "--cache-dir", str(out / "cache"), url], True),
    Client("curl -C -", lambda url, out: ["curl", "-s", "-C", "-", "-o", str(out / "file"), url]),
    Client("wget -c", lambda url, out: ["wget", "-q", "-c", "-O", str(out / "file"), url]),
    Client("wget2 -c", lambda url, out: ["wget2", "-q", "-c", "-P", str(out), url]),
    Client("aria2c -c", lambda url, out: ["aria2c", "-q", "-c", "--file-allocation=none", "-d", str(out), "-o", "file",
                                          url]),
]


def second_run(client: Client, work: Path, proxy: StoppingProxy, log: Path, replace: bool) -> tuple[int, bool, int]:
    """Bytes the second run was sent, whether the file is the origin's then, and the exit status."""
    served, out = work / "root/file", work / "out"
    empty(out)
    url = f"http://127.0.0.1:{proxy.port}/file"
    proxy.set_budget(first_half)
    first = subprocess.Popen(client.command(url, out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    proxy.wait_until_drained()
    time.sleep(0.5)  # for what it has read to reach its file
    first.kill()
    first.wait()
    proxy.set_budget(None)
    time.sleep(0.5)  # for nginx to log the request that was cut
    if replace:
        write_random(work / "new", size)
        changed = served.stat().st_mtime + 60
        os.utime(work / "new", (changed, changed))
        (work / "new").rename(served)
    before = len(log.read_text().splitlines())
    again = subprocess.run(client.command(url, out), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    time.sleep(0.5)
    sent = sum(int(line.split()[1]) for line in log.read_text().splitlines()[before:])
    file = Path(again.stdout.strip()) if client.prints_path else out / "file"
    filecmp.clear_cache()  # it goes by size and date, and clients set the origin's
    right = file.is_file() and filecmp.cmp(file, served, shallow=False)
    return sent, right, again.returncode


heading(f"Killed at half of {options.mebibytes} MiB, run again", "resume-after-kill")
with folder(options.tmpfs, 3 * size / 2**30) as work:
    (work / "root").mkdir()
    write_random(work / "root/file", size)
    with nginx(work / "root", log=True) as (base, log):
        proxy = StoppingProxy(int(base.rsplit(":", 1)[1]))
        rows = []
        for client in clients:
            sent, right, status = second_run(client, work, proxy, log, replace=False)
            sent_new, right_new, status_new = second_run(client, work, proxy, log, replace=True)
            rows.append([
                f"`{client.name}`", f"{(first_half + sent - size) / 1024:,.0f} KiB",
                f"{'right' if right else '**wrong**'}, exit {status}",
                f"{sent_new / 2**20:,.0f} MiB", f"{'right' if right_new else '**wrong**'}, exit {status_new}",
            ])
        proxy.close()
        table(["killed, run again", "fetched again", "bytes", "file replaced between: fetched", "bytes"], rows)
