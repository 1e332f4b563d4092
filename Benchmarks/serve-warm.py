"""A warm 20 KB file, a range of it, its head, a 304, and a warm thumbnail from a service, over 64 connections, beside nginx,
Varnish and thumbor."""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from load import Load, again, heads
from measure import heading, ratio, table
from origin import folder, nginx, write_random
from pictures import photo
from servers import ImgcacheServer, Nginx, Server, Thumbor, Varnish, entity_tag, get

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=5, help="runs of each (default: 5)")
parser.add_argument("--seconds", type=int, default=4, help="of each run (default: 4)")
parser.add_argument("--connections", type=int, default=64, help="(default: 64)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
options = parser.parse_args()


def compare(title: str, servers: list[Server], url, load=again) -> None:
    for server in servers:
        for _ in range(5):
            status, body = get(url(server))
        if status != 200 or not body:
            raise SystemExit(f"{server.name} answers {status} to {url(server)}: {body[:300]!r}")
        server.peak_memory()
    runs: dict[str, list[Load]] = {server.name: [] for server in servers}
    for number in range(-1, options.rounds):
        shift = number % len(servers)
        for server in servers[shift:] + servers[:shift]:
            seconds = options.seconds if number >= 0 else 1
            result = load(server, url(server), options.connections, seconds)
            if number >= 0:
                runs[server.name].append(result)

    def median(name: str, what: str) -> float:
        return statistics.median(getattr(load, what) for load in runs[name])

    peer = servers[0].name
    table(
        [title, "requests/s", f"of {peer}", "CPU a request, µs", f"of {peer}", "p99, ms", "memory, MiB"],
        [[f"`{s.name}`", f"{median(s.name, 'rate'):,.0f}", ratio(median(s.name, "rate"), median(peer, "rate")),
          f"{median(s.name, 'cpu'):.0f}", ratio(median(s.name, "cpu"), median(peer, "cpu")),
          f"{median(s.name, 'p99'):.1f}", f"{s.peak_memory():.0f}"] for s in servers])


heading("What is warm, from a service", "serve-warm")
with folder(options.tmpfs, 1) as work:
    root = work / "root"
    root.mkdir()
    write_random(root / "file", 20_000)
    photo(1600, 1000).save(root / "photo.jpg", quality=85)
    with nginx(root, expires="1h") as (origin, _):
        with Nginx(origin, work) as peer, Varnish(origin, work) as varnish, ImgcacheServer(origin, work) as ours:
            servers, url = [peer, varnish, ours], lambda server: server.plain("file")
            compare("a file of 20 KB", servers, url)
            compare("a range of 10 KB", servers, url, lambda *load: again(*load, field="Range: bytes=5000-14999"))
            compare("a 304", servers, url, lambda *load: again(*load, field=f"If-None-Match: {entity_tag(load[1])}"))
            compare("HEAD", servers, url, heads)
        with Nginx(origin, work) as peer, Thumbor(origin, work) as thumbor, ImgcacheServer(origin, work) as ours:
            compare("a thumbnail, 256 px", [peer, thumbor, ours], lambda server: server.thumbnail("photo.jpg"))
