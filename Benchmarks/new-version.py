"""A new version of a file of which the old one is there: bytes from the server, time, CPU and memory, beside zsync and a whole download."""

import argparse
import io
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, alternate, heading, peak_memory, ratio, table
from origin import IMGCACHE, empty, folder, nginx, write_random

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rounds", type=int, default=3, help="runs of each command (default: 3)")
parser.add_argument("--mebibytes", type=int, default=1024, help="size of the random file (default: 1024)")
parser.add_argument("--tmpfs", default="/dev/shm", help="a folder in memory (default: /dev/shm)")
parser.add_argument("--seed", type=int, default=5, help="what changes (default: 5)")
options = parser.parse_args()
choice = random.Random(options.seed)


def random_file(old: Path, new: Path) -> None:
    """1 % changes, in runs of 100 KiB, and a byte is inserted in front."""
    write_random(old, options.mebibytes << 20)
    data = bytearray(old.read_bytes())
    run = 100 << 10
    for place in choice.sample(range(len(data) // run), len(data) // run // 100):
        data[place * run:(place + 1) * run] = os.urandom(run)
    new.write_bytes(b"x" + data)


def tar(old: Path, new: Path, mode: str = "w") -> None:
    """This repository's sources, of which every fiftieth file changes and one is added."""
    root = Path(__file__).resolve().parents[1]
    files = sorted(path for top in ("Sources", "Tests") for path in (root / top).rglob("*") if path.is_file())
    for target, is_new in [(old, False), (new, True)]:
        with tarfile.open(target, mode) as archive:
            for number, path in enumerate(files):
                entry = archive.gettarinfo(path, str(path.relative_to(root)))
                content = path.read_bytes()
                if is_new and number % 50 == 7:
                    content = content[:len(content) // 2] + b"\n// changed\n" + content[len(content) // 2:]
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


def tar_gz(old: Path, new: Path) -> None:
    tar(old, new, "w:gz")


def database(old: Path, new: Path) -> None:
    """A database of 400,000 rows, of which 1 % are updated."""
    with sqlite3.connect(old) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, data BLOB)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)",
                               ((i, f"name {i}", choice.randbytes(120)) for i in range(400_000)))
    connection.close()
    shutil.copy(old, new)
    with sqlite3.connect(new) as connection:
        first = choice.randrange(390_000)
        connection.executemany("UPDATE t SET data = ? WHERE id = ?",
                               ((choice.randbytes(120), i) for i in range(first, first + 4000)))
    connection.close()


kinds = [
    (f"random, {options.mebibytes} MiB, 1 % changed", random_file), ("tar of sources, 2 % of the files changed", tar),
    ("the same as .tar.gz", tar_gz), ("SQLite, 1 % of the rows changed", database),
]

heading("A new version of a file", "new-version")
rows = []
for name, make in kinds:
    with folder(options.tmpfs, 5 * options.mebibytes / 1024) as work:
        root, out, old = work / "root", work / "out", work / "old"
        root.mkdir()
        make(old, root / "file")
        subprocess.run([IMGCACHE, "zsync", root / "file"], check=True, stdout=subprocess.DEVNULL)
        size = (root / "file").stat().st_size
        with nginx(root, log=True) as (base, log):
            def prepare() -> None:
                empty(out)
                log.write_text("")

            def check() -> None:
                if subprocess.call(["cmp", "-s", root / "file", out / "file"]) != 0:
                    raise SystemExit("another file")
                sent[current[0]] = sum(int(line.split()[1]) for line in log.read_text().splitlines())

            sent: dict[str, int] = {}
            current = [""]

            def contender(program: str, command: list[str]) -> Contender:
                def checked() -> None:
                    current[0] = program
                    check()
                return Contender(program, command, prepare, checked)

            runs = [
                contender("zsync", ["sh", "-c", f"cd {out} && zsync -q -i {old} -o file {base}/file.zsync"]),
                contender("imgcache fetch --zsync", [
                    IMGCACHE, "fetch", "-q", "--cache-dir", str(out / "cache"), "--zsync", "auto", "--seed", str(old),
                    "--link-mode", "hardlink", "-o", str(out / "file"), f"{base}/file"]),
            ]
            alternate(runs, options.rounds)
            memory = {run.name: peak_memory(run) for run in runs}
            digest = Contender("sha256sum", ["sha256sum", str(root / "file")])
            alternate([digest], options.rounds)
            for run in runs:
                rows.append([
                    name, f"`{run.name}`", f"{sent[run.name] / 1e6:.2f}", f"{100 * sent[run.name] / size:.2f} %",
                    f"{run.wall:.2f}", f"{run.cpu:.2f}", ratio(run.cpu, digest.cpu), f"{memory[run.name] / 1024:.0f}",
                ])
table(["file", "program", "MB from the server", "of the file", "wall, s", "CPU, s", "of sha256sum", "peak, MiB"], rows)
