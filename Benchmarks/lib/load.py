"""Load on a server: wrk for one URL again and again, curl for a list of them once."""

import re
import select
import socket
import subprocess
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclass
class Load:
    """What a server did: requests a second, its CPU a request in microseconds, the 99th percentile in milliseconds."""

    rate: float
    cpu: float
    p99: float = 0


def again(server, url: str, connections: int, seconds: int, field: str = "", script: Path | None = None) -> Load:
    """One URL, or those of a script of wrk, over connections that stay open."""
    options = (["-H", field] if field else []) + (["-s", str(script)] if script else [])
    before = server.cpu()
    said = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", *options, url], capture_output=True, text=True,
        check=True).stdout
    cpu = server.cpu() - before
    if match := re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: .*[1-9]", said):
        raise SystemExit(f"{server.name}: {match.group(0)}\n{said}")
    requests = int(re.search(r"(\d+) requests in", said).group(1))
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1))
    return Load(rate, cpu / requests * 1e6, float(p99.group(1)) * _UNITS[p99.group(2)])


def heads(server, url: str, connections: int, seconds: int) -> Load:
    """HEAD of one URL, over connections that stay open: wrk waits for content. Every answer must be 200."""
    parts = urllib.parse.urlsplit(url)
    request = f"HEAD {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
    clients = {}
    waiting = select.epoll()
    for _ in range(connections):
        client = socket.create_connection((parts.hostname, parts.port))
        clients[client.fileno()] = client
        waiting.register(client, select.EPOLLIN)
    before, start = server.cpu(), time.perf_counter()
    sent, times, end = {}, [], start + seconds
    for number, client in clients.items():
        sent[number] = time.perf_counter()
        client.sendall(request)
    while sent:
        for number, _ in waiting.poll(10):
            answer = clients[number].recv(4096)
            now = time.perf_counter()
            if not (answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"\r\n\r\n")):
                raise SystemExit(f"{server.name} answers HEAD with {answer[:300]!r}")
            times.append(now - sent.pop(number))
            if now < end:
                sent[number] = now
                clients[number].sendall(request)
    wall, cpu = time.perf_counter() - start, server.cpu() - before
    for client in clients.values():
        client.close()
    return Load(len(times) / wall, cpu / len(times) * 1e6, sorted(times)[len(times) * 99 // 100] * 1000)


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
