"""The memory cache by itself: hits per second with one and two threads, inserts, removals, a purge, bytes an entry.

Beside it NSCache (Foundation on Linux), a Dictionary behind a mutex that keeps each access's date and sorts by it when
room is needed, and a bare Dictionary behind a mutex, which keeps no order at all. Every round measures each of them once,
in a process of its own. Hits are on 10,000 entries at random; the purge takes 10,000 of 20,000. Bytes an entry are what
the process grows by while 200,000 entries enter, the characters of their URLs and the values not counted; NSCache's keys,
which must be objects, are there before as well.

The last table compares hits of MemoryCache with those of the dictionary with dates in one process, in turns of 200,000, so
that other work on the machine disturbs both.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import heading, ratio, table
from package import program

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=7, help="measurements of each (default: 7)")
parser.add_argument("--binary", help="a memory-benchmark that is built already")
options = parser.parse_args()

binary = options.binary or program("memory")

caches = {
    "imgcache": "`MemoryCache`",
    "nscache": "`NSCache`",
    "dictionary": "Dictionary, mutex, dates",
    "bare": "Dictionary, mutex, no order",
}
names = list(caches)
heading("The memory cache by itself", "memory")
results: dict[str, list[dict]] = {name: [] for name in names}
for number in range(options.rounds):
    shift = number % len(names)
    for name in names[shift:] + names[:shift]:
        said = subprocess.run([binary, name], check=True, capture_output=True, text=True).stdout
        results[name].append(json.loads(said))


def median(name: str, what: str, clock: int = 0) -> float:
    return statistics.median(result[what][clock] for result in results[name])


def cell(name: str, what: str, form: str, scale: float = 1, clock: int = 0) -> list[str]:
    value = median(name, what, clock)
    return [form.format(value * scale), ratio(value, median("imgcache", what, clock))]


table(
    ["millions of hits/s", "1 thread", "of ours", "2 threads", "of ours", "1 thread, a CPU second", "of ours",
     "2 threads, a CPU second", "of ours"],
    [[caches[name], *cell(name, "hits 1", "{:.2f}", 1e-6), *cell(name, "hits 2", "{:.2f}", 1e-6),
      *cell(name, "hits 1", "{:.2f}", 1e-6, clock=1), *cell(name, "hits 2", "{:.2f}", 1e-6, clock=1)]
     for name in names],
)
table(
    ["", "insert, µs CPU", "of ours", "remove, µs CPU", "of ours", "purge of 10,000, ms CPU", "of ours",
     "bytes an entry", "of ours"],
    [[caches[name], *cell(name, "insert", "{:.2f}", clock=1), *cell(name, "remove", "{:.2f}", clock=1),
      *cell(name, "purge", "{:.2f}", 1e-3, clock=1), *cell(name, "overhead", "{:.0f}")] for name in names],
)

turns = [json.loads(subprocess.run([binary, "hits"], check=True, capture_output=True, text=True).stdout)
         for _ in range(options.rounds)]


def across(what: str) -> str:
    return f"{statistics.median(turn[what][0] for turn in turns):.2f}"


table(
    ["millions of hits a CPU second, in turns", "", "of the dictionary"],
    [[caches["imgcache"], across("imgcache"), across("ratio")], [caches["dictionary"], across("dictionary"), "1.00"]],
)
