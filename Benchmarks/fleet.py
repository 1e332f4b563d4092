"""A fleet: services on one SeaweedFS behind nginx (consistent hash by URI), everything on loopback. What a hit of the shared store
takes beside others; what the origin sees of a workload with 1, 3 and 8 services, with and without the store; a machine added and one removed
meanwhile; the latency that a bad store adds; and the simulation of fleet/simulation.py, beside the run with three services."""

import argparse
import importlib.machinery
import importlib.util
import multiprocessing
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "lib"), str(HERE / "fleet")]
import simulation
from measure import heading, proportional_size, table
from origin import IMGCACHE
from servers import _cpu as cpu_of

_loader = importlib.machinery.SourceFileLoader("fleet_demo", str(HERE.parent / "scripts/fleet-demo"))
demo = importlib.util.module_from_spec(importlib.util.spec_from_loader("fleet_demo", _loader))
_loader.exec_module(demo)

PARTS = ["latency", "scale", "change", "bad-store", "simulation"]
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--requests", type=int, default=100_000, help="(default: 100,000)")
parser.add_argument("--images", type=int, default=10_000, help="(default: 10,000)")
parser.add_argument("--services", type=lambda text: [int(each) for each in text.split(",")], default=[1, 3, 8], help="(default: 1,3,8)")
parser.add_argument("--clients", type=int, default=16, help="(default: 16)")
parser.add_argument("--delay", type=float, default=0.04, help="of the origin, in seconds (default: 0.04)")
parser.add_argument("--picture", default=str(HERE.parent / "TestAssets/jpeg/exif-orientation-examples__Landscape_6.jpg"),
                    help="every image of the origin (default: 1200 × 1800 pixels, 353 kB)")
parser.add_argument("--samples", type=int, default=300, help="images for each latency (default: 300)")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--parts", default=",".join(PARTS), help=f"(default: {','.join(PARTS)})")
parser.add_argument("--tolerance", type=float, default=0.05, help="between the simulation and the run (default: 0.05)")
options = parser.parse_args()
SERVER = os.environ.get("IMGCACHE_SERVER", f"{IMGCACHE}-server")
_prefixes = iter(range(1_000_000))


class Fleet:
    """Services of one run: an origin, and a prefix of the bucket, of their own."""

    def __init__(self, endpoint: str | None, prefix: str | None = None, delay: float | None = None) -> None:
        self.folder = tempfile.mkdtemp(prefix="fleet-")
        demo.folders.append(self.folder)
        self.endpoint = endpoint
        self.prefix = prefix or f"run-{next(_prefixes)}"
        self.counts = multiprocessing.Array("q", 2)
        [self.origin_port] = demo.ports(1)
        self._origin = multiprocessing.Process(
            target=demo.serve_origin, daemon=True,
            args=(self.origin_port, options.delay if delay is None else delay, self.counts, options.picture))
        self._origin.start()
        while not demo.accepts(self.origin_port):
            time.sleep(0.02)
        self.services = []
        self._started = 0

    def add(self, folder: str | None = None):
        """Starts a service, with a cache of its own."""
        service = demo.start_service(SERVER, folder or self.folder, self._started, self.origin_port, self.endpoint, self.prefix)
        self._started += 1
        self.services.append(service)
        return service

    def remove(self, service) -> None:
        """Ends a service, which uploads what waits."""
        demo.stop(service[0])
        self.services.remove(service)

    def restart(self, service):
        """A service with an empty memory and the disk that it had."""
        number = self._started
        demo.stop(service[0])
        self.services.remove(service)
        self._started = number - 1
        return self.add()

    def cpu(self) -> float:
        return sum(cpu_of(service[0].pid) for service in self.services)

    def memory(self) -> float:
        """MiB of the largest service."""
        return max(proportional_size(service[0].pid) for service in self.services) / 1024

    def metric(self, name: str, totals=None) -> int:
        totals = totals or demo.metrics(self.services)
        return int(sum(value for full, value in totals.items() if full.startswith(name)))

    def wait_for_uploads(self) -> None:
        for _ in range(600):
            if self.metric("imgcache_remote_queue_length") == 0:
                return
            time.sleep(0.1)

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_) -> None:
        for service in self.services:
            demo.stop(service[0], kill=True)
        self._origin.terminate()
        self._origin.join()
        shutil.rmtree(self.folder, ignore_errors=True)


def checked(results, failures) -> list:
    if failures:
        raise SystemExit(f"{len(failures)} requests failed: {failures[:3]}")
    return results


def milliseconds(values) -> list[str]:
    return [f"{demo.percentile(values, share):.1f}" for share in (0.5, 0.99)]


# MARK: Latency

def latency(endpoint: str) -> None:
    kinds = {"original": [f"/p/{n}.jpg" for n in range(options.samples)],
             "thumbnail": [f"/image/w=320/p/{n}.jpg" for n in range(options.samples)]}
    rows: dict[str, list[str]] = {name: [] for name in (
        "memory", "disk", "shared store", f"origin {options.delay * 1000:.0f} ms away", "origin on loopback")}

    def times(fleet, service, paths, source=None) -> list[float]:
        results = checked(*demo.drive([(service[1], path) for path in paths], 1))
        if source and sum(result[0] == source for result in results) < 0.9 * len(results):
            raise SystemExit(f"expected {source}: {demo.collections.Counter(r[0] for r in results)}")
        return [result[2] for result in results if not source or result[0] == source]

    for paths in kinds.values():
        for name, delay in (("origin on loopback", 0), (f"origin {options.delay * 1000:.0f} ms away", options.delay)):
            with Fleet(None, delay=delay) as fleet:
                rows[name] += milliseconds(times(fleet, fleet.add(), paths))
        with Fleet(endpoint) as fleet:
            service = fleet.add()
            for start in range(0, len(paths), 50):
                times(fleet, service, paths[start:start + 50])
                fleet.wait_for_uploads()
            fleet.remove(service)
            service = fleet.add()
            rows["shared store"] += milliseconds(times(fleet, service, paths, "remote"))
            service = fleet.restart(service)
            rows["disk"] += milliseconds(times(fleet, service, paths, "hit"))
            rows["memory"] += milliseconds(times(fleet, service, paths, "hit"))
    table(["p50 and p99, ms, one client", "original: p50", "p99", "thumbnail: p50", "p99"],
          [[name, *values] for name, values in rows.items()])


# MARK: Scale

def scale(endpoint: str, store, paths: list[str]) -> dict:
    rows, figures = [], {}
    for count in options.services:
        for place in (None, endpoint):
            with Fleet(place) as fleet:
                for _ in range(count):
                    fleet.add()
                balancer, port = demo.start_balancer(fleet.folder, fleet.services)
                cpu, store_cpu, began = fleet.cpu(), cpu_of(store.pid), time.monotonic()
                results = checked(*demo.drive([(port, path) for path in paths], options.clients))
                seconds = time.monotonic() - began
                fleet.wait_for_uploads()
                totals = demo.metrics(fleet.services)
                lost = sum(fleet.metric(f"imgcache_remote_{kind}_total", totals) for kind in ("errors", "skipped", "dropped"))
                if lost > len(paths) / 100:
                    raise SystemExit(f"{lost} requests to the store failed or were left out; its log: {store.log}")
                thumbnails = len({path for path in paths if path.startswith("/image/")})
                rendered = fleet.metric("imgcache_images_encoded_total", totals)
                figures[count, place is not None] = {
                    "origin": fleet.counts[0], "rendered": rendered,
                    "requests": fleet.metric("imgcache_remote_requests_total", totals),
                    "uploads": fleet.metric("imgcache_remote_uploads_total", totals), "seconds": seconds}
                rows.append([
                    f"{count}, {'store' if place else 'no store'}", f"{fleet.counts[0]:,}", f"{fleet.counts[1] / 2**20:,.0f}",
                    f"{rendered:,}", f"{rendered / thumbnails:.2f}",
                    f"{fleet.metric('imgcache_remote_requests_total', totals):,}",
                    f"{(fleet.cpu() - cpu) / len(paths) * 1000:.2f}", f"{fleet.memory():.0f}",
                    f"{(cpu_of(store.pid) - store_cpu) / len(paths) * 1000:.2f}" if place else "",
                    f"{proportional_size(store.pid) / 1024:.0f}" if place else "",
                    *milliseconds([result[2] for result in results])])
                demo.stop(balancer)
    table(["services", "origin: requests", "MiB", "rendered", "of each thumbnail", "requests to the store", "CPU a request, ms",
           "largest service, MiB", "store: CPU a request, ms", "MiB", "p50, ms", "p99"], rows)
    return figures


# MARK: A machine more, one less

def change(endpoint: str, paths: list[str]) -> None:
    rows = []
    for place in (None, endpoint):
        with Fleet(place) as fleet:
            for _ in range(3):
                fleet.add()
            balancer, port = demo.start_balancer(fleet.folder, fleet.services)

            def reload() -> None:
                demo.configure_balancer(fleet.folder, port, fleet.services)
                balancer.send_signal(signal.SIGHUP)

            # A third of the requests each before, during and after the first change.
            names = ["three services", "a fourth one added", "one of them removed"]
            third = len(paths) // 3
            for number, name in enumerate(names):
                part = paths[number * third:(number + 1) * third]

                def alter() -> None:
                    if number == 1:
                        fleet.add()
                        reload()
                    elif number == 2:
                        removed = fleet.services.pop(0)
                        reload()
                        # The balancer's old worker may still have requests for it.
                        time.sleep(0.5)
                        demo.stop(removed[0])

                start = fleet.counts[0]
                worker = threading.Thread(target=alter)
                worker.start()
                results, failures = demo.drive([(port, path) for path in part], options.clients)
                worker.join()
                rows.append([f"{'store' if place else 'no store'}: {name}", f"{len(part):,}", f"{fleet.counts[0] - start:,}",
                             f"{len(failures)}", *milliseconds([result[2] for result in results])])
            demo.stop(balancer)
    table(["", "requests", "of them to the origin", "failed", "p50, ms", "p99"], rows)


# MARK: A bad store

class BadStore:
    """Accepts connections and responds too late, wrongly or never."""

    def __init__(self, kind: str) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._kind = kind
        self._held: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            self._held.append(connection)
            if self._kind != "hung":
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        file = connection.makefile("rb")
        try:
            while line := file.readline():
                length = 0
                while (field := file.readline()) not in (b"\r\n", b""):
                    if field.lower().startswith(b"content-length:"):
                        length = int(field.split(b":")[1])
                file.read(length)
                if self._kind == "slow":
                    time.sleep(0.5)
                status = b"500 Internal Server Error" if self._kind == "500" else b"200 OK" if line.startswith(b"PUT") else b"404 Not Found"
                connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        except OSError:
            pass

    def end(self) -> None:
        self._listener.close()
        for connection in self._held:
            connection.close()


def bad_store() -> None:
    paths = [f"/p/bad-{number}.jpg" for number in range(options.samples * 10)]
    rows, usual = [], 0.0
    for kind, name in ((None, "none"), ("hung", "accepts, never responds"), ("slow", "responds after 500 ms"), ("500", "responds 500"),
                       ("refused", "is not there")):
        store = BadStore(kind) if kind and kind != "refused" else None
        endpoint = store.endpoint if store else "http://127.0.0.1:1" if kind else None
        with Fleet(endpoint) as fleet:
            service = fleet.add()
            results = checked(*demo.drive([(service[1], path) for path in paths], options.clients))
            times = [result[2] for result in results]
            p99 = demo.percentile(times, 0.99)
            usual = usual if kind else p99
            rows.append([name, *milliseconds(times), f"{p99 - usual:+.1f}", f"{max(times) * 1000:.0f}",
                         f"{sum(value > 0.4 for value in times)}", f"{fleet.metric('imgcache_remote_requests_total'):,}"])
        if store:
            store.end()
    table(["the store", "p50, ms", "p99", "added", "longest", "above 400 ms", "requests to it"], rows)


# MARK: The simulation

def compare(figures: dict, paths: list[str]) -> None:
    """The same requests in virtual time, beside the run."""
    rows, worst = [], 0.0
    for (count, has_store), run in figures.items():
        requests = []
        for number, path in enumerate(paths):
            size, _, image = path.removeprefix("/image/").partition("/") if path.startswith("/image/") else (None, "", path[1:])
            machine = random.Random(f"{count} {path}").randrange(count)
            requests.append((number / len(paths) * run["seconds"], machine, image, size))
        policy = simulation.Policy(count, has_store, ttl=simulation.DAY, fetch_time=options.delay, upload_time=0.02)
        counts = simulation.replay(policy, requests)
        polls = run["seconds"] / policy.invalidation_interval * count if has_store else 0
        pairs = [("origin: requests", counts.origin_fetches + counts.confirmations, run["origin"]),
                 ("rendered", counts.rendered, run["rendered"])]
        if has_store:
            pairs.append(("requests to the store", counts.reads + counts.writes + counts.deletions + polls, run["requests"]))
        for name, simulated, real in pairs:
            difference = simulated / max(real, 1) - 1
            worst = max(worst, abs(difference)) if count == 3 else worst
            rows.append([f"{count}, {'store' if has_store else 'no store'}: {name}", f"{real:,.0f}", f"{simulated:,.0f}", f"{difference:+.1%}"])
    table(["services", "run", "simulation", "difference"], rows)
    if worst > options.tolerance:
        raise SystemExit(f"with three services the simulation is off by {worst:.1%}, more than {options.tolerance:.0%}")


def main() -> None:
    parts = options.parts.split(",")
    heading("A fleet", "fleet")
    paths = demo.workload(options)
    weed = os.environ.get("IMGCACHE_TEST_WEED") or demo.shell("scripts/seaweedfs")
    store, endpoint = demo.start_store(weed)
    figures = {}
    if "latency" in parts:
        latency(endpoint)
    if "scale" in parts:
        figures = scale(endpoint, store, paths)
    if "change" in parts:
        change(endpoint, paths)
    demo.stop(store, kill=True)
    if "bad-store" in parts:
        bad_store()
    if "simulation" in parts and figures:
        compare(figures, paths)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
