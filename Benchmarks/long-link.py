"""One file over a long link that loses packets, or that caps each connection, beside the peers' downloads; root is needed.

The link is a program of its own: PROGRAM RTT_MS RATE_MBIT LOSS_PCT cubic|bbr SERVER_COMMAND -- CLIENT_COMMAND runs both commands at its two
ends, where the server is 10.23.0.2."""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, alternate, heading, ratio, table
from origin import IMGCACHE, empty, folder, write_random

SERVER = "10.23.0.2"
CONFIGURATION = """
user root; daemon off; worker_processes 1; pid {prefix}/nginx.pid; error_log {prefix}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off; sendfile on; default_type application/octet-stream;
    client_body_temp_path {prefix}/b; proxy_temp_path {prefix}/p; fastcgi_temp_path {prefix}/f;
    uwsgi_temp_path {prefix}/u; scgi_temp_path {prefix}/s;
    server {{
        listen {server}:8080; listen {server}:8081; root {prefix}/root;
        location /capped/ {{ alias {prefix}/root/; limit_rate 250000; }}
    }}
}}
"""
CASES = {
    "no loss, cubic": (0, "cubic", ""), "no loss, bbr": (0, "bbr", ""),
    "0.1 %, cubic": (0.1, "cubic", ""), "0.1 %, bbr": (0.1, "bbr", ""),
    "1 %, cubic": (1, "cubic", ""), "1 %, bbr": (1, "bbr", ""),
    "2 Mbit/s a connection": (0, "cubic", "capped/"),
}
# The same file at two origins, with its SHA-256.
MIRRORED = {
    "two mirrors, no loss": (0, "cubic", ""), "two mirrors, 1 %": (1, "cubic", ""),
    "two mirrors, 2 Mbit/s a connection": (0, "cubic", "capped/"),
}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--link", default=os.environ.get("LINK_EMULATOR"), help="the link's program (default: $LINK_EMULATOR)")
parser.add_argument("--rounds", type=int, default=3, help="runs of each command (default: 3)")
parser.add_argument("--rtt", type=int, default=100, help="round-trip time in milliseconds (default: 100)")
parser.add_argument("--rate", type=int, default=200, help="rate of the link in Mbit/s (default: 200)")
parser.add_argument("--mebibytes", type=int, default=10, help="size of the file (default: 10)")
parser.add_argument("--cases", help="a part of the names of the cases to run")
parser.add_argument("--memory", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
parser.add_argument("--client", help=argparse.SUPPRESS)
parser.add_argument("--mirrored", action="store_true", help=argparse.SUPPRESS)
options = parser.parse_args()


def contenders(url: str, work: Path, mirror: str | None) -> list[Contender]:
    out, expected = work / "out", (work / "root/file").read_bytes()

    def right(*folders: Path):
        def check() -> None:
            found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
            if not any(path.stat().st_size == len(expected) and path.read_bytes() == expected for path in found):
                raise SystemExit(f"{folders[0]} does not hold the file")
        return check

    ours = [IMGCACHE, "fetch", "-q", "-j", "16", "--cache-dir", str(out / "cache"), url]
    if mirror:
        checked = [IMGCACHE, "fetch", "-q", "--cache-dir", str(out / "cache"), url, "--sha256", hashlib.sha256(expected).hexdigest()]
        return [
            Contender("aria2c -x16", ["aria2c", "-q", "-x16", "-s16", "-k1M", "--file-allocation=none", "-d", str(out), "-o",
                                      "file", f"--checksum=sha-256={hashlib.sha256(expected).hexdigest()}", url, mirror],
                      lambda: empty(out), right(out)),
            Contender("imgcache fetch --mirror", [*checked, "--mirror", mirror], lambda: empty(out), right(out / "cache/bodies")),
            Contender("imgcache fetch", checked, lambda: empty(out), right(out / "cache/bodies")),
        ]
    return [
        Contender("curl -o", ["curl", "-s", "-o", str(out / "file"), url], lambda: empty(out), right(out)),
        Contender("aria2c -x16", ["aria2c", "-q", "-x16", "-s16", "-k1M", "--file-allocation=none", "-d", str(out), "-o",
                                  "file", url], lambda: empty(out), right(out)),
        Contender("imgcache fetch", ours, lambda: empty(out), right(out / "cache/bodies")),
        Contender("imgcache fetch --segments 1", [*ours, "--segments", "1"], lambda: empty(out), right(out / "cache/bodies")),
    ]


def walls(work: Path, loss: float, congestion: str, path: str, mirrored: bool) -> list[float]:
    """The median of each contender's times over a link of its own."""
    (work / "path").write_text(path)
    subprocess.run(
        [options.link, str(options.rtt), str(options.rate), str(loss), congestion,
         f"PATH=$PATH:/usr/sbin nginx -c {work}/nginx.conf", "--", sys.executable, __file__, "--client", str(work), "--rounds",
         str(options.rounds), *(["--mirrored"] if mirrored else [])], check=True, stdout=subprocess.DEVNULL)
    return [statistics.median(walls) for walls in json.loads((work / "walls").read_text())]


if options.client:  # At the client's end of the link.
    work, path = Path(options.client), (Path(options.client) / "path").read_text()
    other = f"http://{SERVER}:8081/{path}file" if options.mirrored else None
    runs = contenders(f"http://{SERVER}:8080/{path}file", work, other)
    alternate(runs, options.rounds, warm_up=0)
    (work / "walls").write_text(json.dumps([run.walls for run in runs]))
    sys.exit()
if not options.link:
    raise SystemExit("name the program that makes the link: --link PROGRAM, or LINK_EMULATOR (--help)")
heading(f"{options.mebibytes} MiB over {options.rtt} ms and {options.rate} Mbit/s", "long-link")
rows, mirrored = [], []
with folder(options.memory, 4 * options.mebibytes / 1024) as work:
    (work / "root").mkdir()
    write_random(work / "root/file", options.mebibytes << 20)
    (work / "nginx.conf").write_text(CONFIGURATION.format(prefix=work, server=SERVER))
    for name, case in CASES.items():
        if options.cases and options.cases not in name:
            continue
        curl, aria, ours, one = walls(work, *case, mirrored=False)
        rows.append([name, f"{curl:.2f}", f"{aria:.2f}", f"{ours:.2f}", f"{one:.2f}", ratio(ours, curl), ratio(ours, aria)])
    for name, case in MIRRORED.items():
        if options.cases and options.cases not in name:
            continue
        aria, ours, one = walls(work, *case, mirrored=True)
        mirrored.append([name, f"{aria:.2f}", f"{ours:.2f}", f"{one:.2f}", ratio(ours, aria), ratio(ours, one)])
if rows:
    table(["seconds", "`curl -o`", "`aria2c -x16`", "`imgcache fetch`", "`--segments 1`", "of curl", "of aria2c"], rows)
if mirrored:
    table(["seconds", "`aria2c -x16 -s16 URL URL`", "`imgcache fetch --mirror`", "one mirror alone", "of aria2c", "of one mirror"],
          mirrored)
