"""Load on a server: wrk for one URL again and again, curl for a list of them once."""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclass
class Load:
    """What a server did: requests a second, its CPU a request in microseconds, the 99th percentile in milliseconds."""

    rate: float
    cpu: float
    p99: float = 0


def again(server, url: str, connections: int, seconds: int) -> Load:
    """One URL, over connections that stay open."""
    before = server.cpu()
    said = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", url], capture_output=True, text=True, check=True
    ).stdout
    cpu = server.cpu() - before
    if match := re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: .*[1-9]", said):
        raise SystemExit(f"{server.name}: {match.group(0)}\n{said}")
    requests = int(re.search(r"(\d+) requests in", said).group(1))
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1))
    return Load(rate, cpu / requests * 1e6, float(p99.group(1)) * _UNITS[p99.group(2)])


def once(server, urls: list[str], connections: int, folder: Path) -> Load:
    """Each URL once, so many at a time; every answer must be 200."""
    config = folder / "urls"
    config.write_text("".join(f'url = "{url}"\noutput = "/dev/null"\n' for url in urls))
    before, start = server.cpu(), time.perf_counter()
    said = subprocess.run(
        ["curl", "-s", "-g", "--parallel", "--parallel-immediate", "--parallel-max", str(connections),
         "-w", "%{http_code}\\n", "-K", str(config)], capture_output=True, text=True).stdout.split()
    wall, cpu = time.perf_counter() - start, server.cpu() - before
    wrong = [status for status in said if status != "200"]
    if wrong or len(said) != len(urls):
        raise SystemExit(f"{server.name}: {len(said)} answers of {len(urls)}, not 200: {wrong[:10]}")
    return Load(len(urls) / wall, cpu / len(urls) * 1e6)
