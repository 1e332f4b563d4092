"""Image services on loopback, in front of the same origin, and what they cost: imgcache-server, nginx (proxy_cache and
image_filter), Varnish, thumbor. CPU is user + system of all of a server's processes; memory is their proportional size."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from measure import proportional_size
from origin import IMGCACHE, free_port

_TICK = os.sysconf("SC_CLK_TCK")

_NGINX = """
{user}
daemon off;
worker_processes 2;
pid {prefix}/nginx.pid;
error_log {prefix}/error.log;
{modules}
events {{ worker_connections 2048; }}
http {{
    access_log off;
    client_body_temp_path {prefix}/body;
    proxy_temp_path {prefix}/proxy;
    fastcgi_temp_path {prefix}/fastcgi;
    uwsgi_temp_path {prefix}/uwsgi;
    scgi_temp_path {prefix}/scgi;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    proxy_cache_path {prefix}/cache keys_zone=all:16m max_size=4g use_temp_path=off;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    upstream origin {{ server {origin}; keepalive 64; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://origin;
            proxy_cache all;
            proxy_cache_lock on;
        }}
        location /slices/ {{
            slice 256k;
            # With it, the end of a range would wait for the client's delayed acknowledgement.
            tcp_nopush off;
            proxy_pass http://origin/;
            proxy_cache all;
            proxy_cache_key $uri$slice_range;
            proxy_cache_valid 200 206 1h;
            proxy_set_header Range $slice_range;
            proxy_set_header Connection "";
        }}
        location /image/ {{
            proxy_pass http://127.0.0.1:{inner}/;
            proxy_cache all;
            proxy_cache_lock on;
            proxy_cache_valid 200 1h;
        }}
        location /resize/ {{
            proxy_pass http://127.0.0.1:{inner};
            proxy_cache all;
            proxy_cache_lock on;
            proxy_cache_valid 200 1h;
        }}
    }}
    {inner_server}
}}
"""

_IMAGE_FILTER = """
    server {{
        listen 127.0.0.1:{inner};
        location / {{
            image_filter crop 256 256;
            image_filter_jpeg_quality 80;
            image_filter_buffer 64m;
            proxy_pass http://origin;
        }}
        location ~ ^/resize/(?<side>[0-9]+)/(?<file>.*)$ {{
            image_filter resize $side $side;
            image_filter_jpeg_quality 80;
            image_filter_buffer 64m;
            proxy_pass http://origin/$file;
        }}
    }}
"""


class Server:
    """A running service. `plain(path)` is a file's URL, `thumbnail(path)` that of its 256 × 256 thumbnail, `within(path, side)`
    that of the picture within a square."""

    def __init__(self, name: str, port: int, command: list[str], prefix: Path, env: dict[str, str] | None = None) -> None:
        self.name = name
        self.port = port
        self._prefix = prefix
        self._log = open(prefix / "log", "wb")
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, env=env, start_new_session=True)
        self._peak = 0
        self._sampling = True
        for _ in range(1500):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.02)
        else:
            self._process.kill()
        if self._process.poll() is not None:
            raise SystemExit(f"{name} does not start:\n{(prefix / 'log').read_text(errors='replace')[-2000:]}")
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def ranges(self, path: str) -> str:
        """The URL of a file of which ranges are read."""
        return self.plain(path)

    def plain(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def thumbnail(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/image/{path}"

    def within(self, path: str, side: int) -> str:
        return f"http://127.0.0.1:{self.port}/resize/{side}/{path}"

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def cpu(self) -> float:
        """Seconds so far, of all processes; children that have ended count with their parent."""
        return sum(_cpu(pid) for pid in _tree(self._process.pid))

    def peak_memory(self) -> float:
        """MiB, the most that was seen since the last call; looked at 20 times a second."""
        peak, self._peak = self._peak, 0
        return peak / 1024

    def _sample(self) -> None:
        while self._sampling:
            self._peak = max(self._peak, proportional_size(self._process.pid))
            time.sleep(0.05)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        self._sampling = False
        self._sampler.join()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        try:
            # Its own children, where it leaves them behind (thumbor does).
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._log.close()
        shutil.rmtree(self._prefix, ignore_errors=True)


def _tree(pid: int) -> list[int]:
    pids = [pid]
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as listed:
                for child in listed.read().split():
                    pids += _tree(int(child))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return pids


def _cpu(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(value) for value in fields[11:15]) / _TICK


def _prefix(folder: Path) -> Path:
    path = Path(tempfile.mkdtemp(prefix="server-", dir=folder))
    path.chmod(0o755)
    return path


class ImgcacheServer(Server):
    def __init__(self, origin: str, folder: Path, *more: str) -> None:
        prefix, port = _prefix(folder), free_port()
        super().__init__("imgcache serve", port, [
            f"{IMGCACHE}-server", "--origin", origin, "--listen", f"127.0.0.1:{port}", "--admin", "off",
            "--cache-dir", str(prefix / "cache"), "--capacity", "4GiB", "--access-log", "off", *more], prefix)

    def thumbnail(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/image/w=256,h=256,fit=cover,format=jpeg,quality=80/{path}"

    def within(self, path: str, side: int) -> str:
        return f"http://127.0.0.1:{self.port}/image/w={side},h={side},fit=scale-down,format=jpeg,quality=80/{path}"


class Nginx(Server):
    """proxy_cache for files, image_filter behind proxy_cache for thumbnails."""

    def __init__(self, origin: str, folder: Path) -> None:
        prefix, port, inner = _prefix(folder), free_port(), free_port()
        module = Path("/usr/lib/nginx/modules/ngx_http_image_filter_module.so")
        (prefix / "nginx.conf").write_text(_NGINX.format(
            user="user root;" if os.getuid() == 0 else "", prefix=prefix, port=port, inner=inner,
            modules=f"load_module {module};" if module.exists() else "",
            origin=origin.removeprefix("http://"),
            inner_server=_IMAGE_FILTER.format(inner=inner) if module.exists() else ""))
        super().__init__("nginx", port, [
            shutil.which("nginx") or "/usr/sbin/nginx", "-p", str(prefix), "-c", str(prefix / "nginx.conf"),
            "-e", str(prefix / "error.log")], prefix)

    def ranges(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/slices/{path}"


class Varnish(Server):
    def __init__(self, origin: str, folder: Path) -> None:
        prefix, port = _prefix(folder), free_port()
        super().__init__("Varnish", port, [
            shutil.which("varnishd") or "/usr/sbin/varnishd", "-F", "-a", f"127.0.0.1:{port}",
            "-b", origin.removeprefix("http://"), "-s", "malloc,1g", "-n", str(prefix / "work"), "-j", "none"], prefix)


class Thumbor(Server):
    """Two processes, results kept in files."""

    def __init__(self, origin: str, folder: Path) -> None:
        prefix, port = _prefix(folder), free_port()
        self._origin = origin
        (prefix / "thumbor.conf").write_text(
            "ALLOW_UNSAFE_URL = True\nHTTP_LOADER_REQUEST_TIMEOUT = 300\nHTTP_LOADER_CONNECT_TIMEOUT = 60\nQUALITY = 80\nAUTO_WEBP = False\nMAX_AGE = 3600\n"
            "STORAGE = 'thumbor.storages.file_storage'\nRESULT_STORAGE = 'thumbor.result_storages.file_storage'\n"
            "RESULT_STORAGE_STORES_UNSAFE = True\n"
            f"FILE_STORAGE_ROOT_PATH = '{prefix}/storage'\nRESULT_STORAGE_FILE_STORAGE_ROOT_PATH = '{prefix}/results'\n")
        super().__init__("thumbor", port, [
            str(Path(sys.executable).parent / "thumbor"), "-i", "127.0.0.1", "-p", str(port), "-c",
            str(prefix / "thumbor.conf"), "--processes", "2", "-l", "error"], prefix)

    def thumbnail(self, path: str) -> str:
        # Its own query would not be the image's.
        return f"http://127.0.0.1:{self.port}/unsafe/256x256/{urllib.parse.quote(f'{self._origin}/{path}', safe=':/')}"

    def within(self, path: str, side: int) -> str:
        original = urllib.parse.quote(f"{self._origin}/{path}", safe=":/")
        return f"http://127.0.0.1:{self.port}/unsafe/fit-in/{side}x{side}/{original}"


def get(url: str, timeout: float = 60) -> tuple[int, bytes]:
    """Status and body; status 0 when there was no answer."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


def entity_tag(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        answer.read()
        return answer.headers["ETag"]
