"""An nginx of our own on loopback, and the folders that the benchmarks work in."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

IMGCACHE = os.environ.get("IMGCACHE_BINARY", str(Path(__file__).resolve().parents[2] / ".build/product/imgcache"))

_CONFIGURATION = """
{user}
daemon off;
worker_processes 1;
pid {prefix}/nginx.pid;
error_log {prefix}/error.log;
events {{ worker_connections 1024; }}
http {{
    log_format bytes '$status $body_bytes_sent $request_uri';
    access_log {access_log};
    client_body_temp_path {prefix}/body;
    proxy_temp_path {prefix}/proxy;
    fastcgi_temp_path {prefix}/fastcgi;
    uwsgi_temp_path {prefix}/uwsgi;
    scgi_temp_path {prefix}/scgi;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 100000;
    server {{
        listen 127.0.0.1:{port};
        root {root};
        expires {expires};
    }}
}}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def nginx(root: Path, expires: str = "off", log: bool = False):
    """Serves `root`; yields the base URL and the path of the access log."""
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    prefix = Path(tempfile.mkdtemp(prefix="imgcache-nginx-"))
    port = free_port()
    access_log = prefix / "access.log"
    (prefix / "nginx.conf").write_text(_CONFIGURATION.format(
        user="user root;" if os.getuid() == 0 else "",
        prefix=prefix,
        access_log=f"{access_log} bytes" if log else "off",
        port=port,
        root=root,
        expires=expires,
    ))
    server = subprocess.Popen([binary, "-p", str(prefix), "-c", str(prefix / "nginx.conf"),
                               "-e", str(prefix / "error.log")])
    try:
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.01)
        else:
            raise SystemExit((prefix / "error.log").read_text())
        yield f"http://127.0.0.1:{port}", access_log
    finally:
        server.send_signal(signal.SIGQUIT)
        try:
            server.wait(timeout=5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(prefix, ignore_errors=True)


@contextmanager
def folder(parent: str, gibibytes: float = 0):
    """A temporary folder under `parent`, removed at the end."""
    free = shutil.disk_usage(parent).free / 2**30
    if free < gibibytes:
        raise SystemExit(f"{parent} has {free:.1f} GiB free, this needs {gibibytes:.1f}; name another folder (--help)")
    path = Path(tempfile.mkdtemp(prefix="imgcache-benchmark-", dir=parent))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def write_random(path: Path, size: int) -> None:
    """Bytes that neither compress nor repeat."""
    with open(path, "wb", buffering=0) as file:
        while size > 0:
            size -= file.write(os.urandom(min(size, 1 << 22)))


def empty(path: Path) -> None:
    """An empty folder at `path`, whatever was there."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)


def set_aside(path: Path) -> None:
    """An empty folder at `path`; what was there is moved away, not deleted, until the folder above it goes.

    ext4 searches long for a free inode where thousands were deleted within the last minutes (`recently_deleted` in
    fs/ext4/ialloc.c): that would be measured, at up to 0.5 ms a file, instead of the command.
    """
    if path.exists():
        path.rename(tempfile.mkdtemp(prefix="aside-", dir=path.parent))
    path.mkdir()
