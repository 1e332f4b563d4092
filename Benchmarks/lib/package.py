"""Builds the benchmarks that are Swift packages of their own."""

import subprocess
import sys
from pathlib import Path


def program(name: str) -> str:
    """Builds the package in the folder `name` of Benchmarks in release; the path of its program `name`-benchmark."""
    folder = Path(__file__).parent.parent / name
    build = ["swift", "build", "-c", "release", "--package-path", str(folder)]
    subprocess.run(build, check=True, stdout=sys.stderr)
    bin_path = subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    return f"{bin_path}/{name}-benchmark"
