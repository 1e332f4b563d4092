#!/usr/bin/env python3
"""Writes the wheel of the command and its Python package: build.py PROGRAM VERSION OUTPUT-FOLDER

The same input gives the same bytes: times are SOURCE_DATE_EPOCH, and names are sorted. The platform tag names the newest version of glibc
that the program asks for (PEP 600).
"""

import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import time
import zipfile

here = pathlib.Path(__file__).resolve().parent

METADATA = """\
Metadata-Version: 2.4
Name: imgcache
Version: {version}
Summary: Downloads that resume after a cut or a kill and are cached: the command imgcache and its Python package
License-Expression: Apache-2.0
License-File: LICENSE
Project-URL: Source, https://github.com/imgcache/imgcache
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.9
Provides-Extra: fsspec
Requires-Dist: fsspec[http]>=2025.12; extra == "fsspec"
Provides-Extra: pooch
Requires-Dist: pooch>=1.8; extra == "pooch"
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: imgcache
Root-Is-Purelib: false
Tag: {tag}
"""

ENTRY_POINTS = """\
[fsspec.specs]
imgcache = imgcache._fsspec:ImgcacheFileSystem
"""


def platform_tag(program):
    versions = subprocess.run(["readelf", "--version-info", program], check=True, capture_output=True, text=True).stdout
    major, minor = max(tuple(map(int, version)) for version in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", versions))
    return f"manylinux_{major}_{minor}_{platform.machine()}"


def main():
    program, version, output = sys.argv[1:]
    tag = f"py3-none-{platform_tag(program)}"
    info = f"imgcache-{version}.dist-info"
    files = {
        f"imgcache-{version}.data/scripts/imgcache": pathlib.Path(program).read_bytes(),
        f"{info}/METADATA": METADATA.format(version=version, readme=(here / "README.md").read_text()).encode(),
        f"{info}/WHEEL": WHEEL.format(tag=tag).encode(),
        f"{info}/entry_points.txt": ENTRY_POINTS.encode(),
        f"{info}/licenses/LICENSE": (here / "../../LICENSE").read_bytes(),
    }
    for path in (here / "imgcache").iterdir():
        if path.suffix == ".py" or path.name == "py.typed":
            files[f"imgcache/{path.name}"] = path.read_bytes()

    def line(name, content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}\n"

    record = f"{info}/RECORD"
    files[record] = ("".join(line(*file) for file in sorted(files.items())) + f"{record},,\n").encode()
    # The format counts years from 1980.
    when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315_532_800))[:6]
    path = pathlib.Path(output, f"imgcache-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        # The metadata comes last, as PEP 427 recommends.
        for name, content in sorted(files.items(), key=lambda file: (".dist-info/" in file[0], file[0])):
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    print(path)


main()
