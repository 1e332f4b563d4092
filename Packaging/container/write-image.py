#!/usr/bin/env python3
"""Writes a root folder as an image of one layer: an archive of the OCI image format. The same folder gives the same bytes.

    write-image.py ROOT FILE --version VERSION --architecture amd64|arm64 --time SECONDS
"""

import argparse
import gzip
import hashlib
import io
import json
import tarfile
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("root", type=Path)
parser.add_argument("file", type=Path)
parser.add_argument("--version", required=True)
parser.add_argument("--architecture", required=True)
parser.add_argument("--time", type=int, required=True, help="of all files, in seconds since 1970")
options = parser.parse_args()

USER = 10001
OWN = ("var/cache/imgcache",)
blobs: dict[str, bytes] = {}


def member(name: str, size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, options.time, 0o644
    return info


def layer() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(options.root.rglob("*"), key=lambda path: path.as_posix().encode()):
            name = path.relative_to(options.root).as_posix()
            info = archive.gettarinfo(path, name)
            owner = USER if name in OWN else 0
            info.uid, info.gid, info.uname, info.gname, info.mtime = owner, owner, "", "", options.time
            if info.isreg():
                with path.open("rb") as file:
                    archive.addfile(info, file)
            else:
                archive.addfile(info)
    return buffer.getvalue()


def blob(content: bytes, media_type: str) -> dict:
    digest = hashlib.sha256(content).hexdigest()
    blobs[digest] = content
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def text(value: dict) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()


files = layer()
packed = gzip.compress(files, 9, mtime=0)
created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(options.time))
labels = {
    "org.opencontainers.image.title": "imgcache", "org.opencontainers.image.version": options.version,
    "org.opencontainers.image.description": "The download cache for images and files, and its thumbnail service",
    "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.created": created,
}
config = blob(text({
    "architecture": options.architecture, "os": "linux", "created": created,
    "config": {
        "User": f"{USER}:{USER}", "Entrypoint": ["/usr/bin/imgcache-server"], "WorkingDir": "/",
        "Env": ["PATH=/usr/bin", "IMGCACHE_DIR=/var/cache/imgcache", "IMGCACHE_LISTEN=0.0.0.0:8080",
                "IMGCACHE_ADMIN=0.0.0.0:8081"],
        "ExposedPorts": {"8080/tcp": {}, "8081/tcp": {}}, "Volumes": {"/var/cache/imgcache": {}}, "StopSignal": "SIGTERM",
        "Labels": labels,
        # Docker's extension of the format; Kubernetes has probes of its own. Times are nanoseconds.
        "Healthcheck": {"Test": ["CMD", "/usr/bin/imgcache-server", "--ready"], "Interval": 10_000_000_000,
                        "Timeout": 6_000_000_000, "StartPeriod": 10_000_000_000},
    },
    "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(files).hexdigest()}"]},
    "history": [{"created": created, "created_by": "scripts/package container"}],
}), "application/vnd.oci.image.config.v1+json")
manifest = blob(text({
    "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
    "layers": [blob(packed, "application/vnd.oci.image.layer.v1.tar+gzip")], "annotations": labels,
}), "application/vnd.oci.image.manifest.v1+json")
manifest["annotations"] = {"org.opencontainers.image.ref.name": options.version}
index = text({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]})

with tarfile.open(options.file, "w", format=tarfile.PAX_FORMAT) as archive:
    contents = {"oci-layout": text({"imageLayoutVersion": "1.0.0"}), "index.json": index}
    contents |= {f"blobs/sha256/{digest}": content for digest, content in sorted(blobs.items())}
    for name, content in contents.items():
        archive.addfile(member(name, len(content)), io.BytesIO(content))
