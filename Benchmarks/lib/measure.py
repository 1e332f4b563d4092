"""Runs commands in turn and reports medians.

Every round runs each contender once, in an order that rotates, so that a slow minute of the machine hits all of them.
Wall is from before the spawn to after the wait; CPU is user + system of the process as wait4 reports it. Peak memory
comes from `/usr/bin/time`, in runs of their own: a process that Python spawns would start with Python's peak.
"""

import gc
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Contender:
    """One command. `prepare` runs before each run, unmeasured; `check` after it, and raises when the result is wrong."""

    name: str
    command: list[str]
    prepare: Callable[[], None] = lambda: None
    check: Callable[[], None] = lambda: None
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)

    @property
    def wall(self) -> float:
        return statistics.median(self.walls)

    @property
    def cpu(self) -> float:
        return statistics.median(self.cpus)


def _spawn(command: list[str], log: int) -> int:
    return os.posix_spawnp(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, log, 2),
        ],
    )


def run_once(contender: Contender) -> tuple[float, float]:
    """Wall and CPU seconds of one run; raises when the command fails, with what it said."""
    contender.prepare()
    log = os.memfd_create("stderr")
    try:
        start = time.perf_counter()
        pid = _spawn(contender.command, log)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - start
        if status != 0:
            said = os.pread(log, 2000, 0).decode(errors="replace")
            raise SystemExit(f"{' '.join(contender.command)}: exit {os.waitstatus_to_exitcode(status)}\n{said}")
    finally:
        os.close(log)
    contender.check()
    return wall, usage.ru_utime + usage.ru_stime


def alternate(contenders: list[Contender], rounds: int, warm_up: int = 1) -> None:
    """Fills each contender's `walls` and `cpus`."""
    gc.disable()
    for number in range(-warm_up, rounds):
        shift = number % len(contenders)
        for contender in contenders[shift:] + contenders[:shift]:
            wall, cpu = run_once(contender)
            if number >= 0:
                contender.walls.append(wall)
                contender.cpus.append(cpu)
        if sys.stderr.isatty():
            print(f"\r\033[Kround {number + 1} of {rounds}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    gc.enable()


def peak_memory(contender: Contender) -> int:
    """Peak resident memory in KiB."""
    contender.prepare()
    result = subprocess.run(
        ["/usr/bin/time", "-f", "peak %M", *contender.command], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    match = re.search(r"^peak (\d+)$", result.stderr, re.MULTILINE)
    if result.returncode != 0 or match is None:
        raise SystemExit(f"{' '.join(contender.command)}: exit {result.returncode}\n{result.stderr}")
    contender.check()
    return int(match.group(1))


def peak_of_all(contender: Contender) -> int:
    """Peak memory in KiB of a command and all its processes together: what they share counts once. Looks 50 times a second."""
    contender.prepare()
    running = subprocess.Popen(contender.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    peak = 0
    while running.poll() is None:
        peak = max(peak, proportional_size(running.pid))
        time.sleep(0.02)
    if running.returncode != 0:
        raise SystemExit(f"{' '.join(contender.command)}: exit {running.returncode}")
    contender.check()
    return peak


def proportional_size(pid: int) -> int:
    """KiB of a process and its descendants; 0 for those that have ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as rollup:
            size = sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
        children: list[str] = []
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as listed:
                children += listed.read().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return size + sum(proportional_size(int(child)) for child in children)


def table(head: list[str], rows: list[list[str]]) -> None:
    """Prints a Markdown table: first column left, the others right."""
    print("| " + " | ".join(head) + " |")
    print("|---" + "|--:" * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def ratio(value: float, peer: float) -> str:
    return f"{value / peer:.2f}"


def heading(title: str, row: str) -> None:
    """Title, the command that repeats it, and what the machine is."""
    arguments = " ".join([row, *sys.argv[1:]])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    print(f"### {title}\n\n`Benchmarks/run {arguments}`: {os.cpu_count()} cores, {memory:.0f} GiB memory, "
          f"load {os.getloadavg()[0]:.1f} at the start\n", flush=True)
