"""1,000 files of 20 KB named in one list, over a long link between two network namespaces (root needed), with HTTP/1.1 and HTTP/2."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
from measure import Contender, alternate, heading, ratio, table
from origin import IMGCACHE, folder, set_aside, write_random

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--link", help="the program that makes the link: PROGRAM RTT_MS RATE_MBIT LOSS_PERCENT CONGESTION SERVER -- CLIENT…; the server "
                    "is at 10.23.0.2")
parser.add_argument("--rtt", type=int, default=100, help="milliseconds (default: 100)")
parser.add_argument("--rate", type=int, default=200, help="Mbit/s (default: 200)")
parser.add_argument("--rounds", type=int, default=5, help="runs of each command (default: 5)")
parser.add_argument("--files", type=int, default=1000, help="how many (default: 1000)")
parser.add_argument("--bytes", type=int, default=20_000, help="size of each (default: 20000)")
parser.add_argument("--folder", default="/dev/shm", help="where all of it lies (default: /dev/shm)")
parser.add_argument("--client", help=argparse.SUPPRESS)
options = parser.parse_args()

NGINX = """
user root; daemon off; pid {0}/nginx.pid; error_log {0}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off; client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3; uwsgi_temp_path {0}/t4; scgi_temp_path {0}/t5;
    sendfile on; tcp_nopush on; keepalive_requests 100000; expires 1h;
    server {{
        listen 10.23.0.2:8080; listen 10.23.0.2:8443 ssl http2;
        ssl_certificate {0}/cert.pem; ssl_certificate_key {0}/key.pem; root {0}/root;
    }}
}}
"""


def contenders(work: Path) -> list[tuple[str, list[Contender]]]:
    out = work / "out"

    def prepare() -> None:
        set_aside(out)

    def check() -> None:
        whole = sum(1 for path in out.rglob("*") if path.is_file() and path.stat().st_size == options.bytes)
        if whole < options.files:
            raise SystemExit(f"{whole} of {options.files} files arrived")

    def curl(config: str) -> Contender:
        return Contender("curl --parallel --parallel-max 50",
                         ["curl", "-sk", "--parallel", "--parallel-max", "50", "--remote-name-all", "--create-dirs", "--output-dir", str(out),
                          "-K", str(work / config)], prepare, check)

    def aria2(urls: str) -> Contender:
        return Contender("aria2c -j200", ["aria2c", "-q", "-j200", "-x1", "--check-certificate=false", "--file-allocation=none", "-d", str(out),
                                          "-i", str(work / urls)], prepare, check)

    def imgcache(urls: str, *more: str) -> Contender:
        return Contender(" ".join(["imgcache fetch -i", *more]),
                         [IMGCACHE, "fetch", "-qk", "--cache-dir", str(out), "-i", str(work / urls), *more], prepare, check)

    return [
        ("HTTP/1.1", [aria2("http"), curl("http.curl"), imgcache("http"), imgcache("http", "-j", "200")]),
        ("HTTP/2", [curl("https.curl"), imgcache("https")]),
    ]


def client() -> None:
    for protocol, runs in contenders(Path(options.client)):
        alternate(runs, options.rounds)
        best = min(c.wall for c in runs if not c.name.startswith("imgcache"))
        table([protocol, "files/s", "of the best peer", "wall, s", "CPU, s"],
              [[f"`{c.name}`", f"{options.files / c.wall:,.0f}", ratio(best, c.wall), f"{c.wall:.2f}", f"{c.cpu:.2f}"] for c in runs])


if options.client:
    client()
    sys.exit()
if not options.link or os.getuid() != 0:
    print("many-files-far: left out; it needs root and a link (--link)", file=sys.stderr)
    sys.exit()
heading(f"{options.files} files of {options.bytes} bytes over {options.rtt} ms, {options.rate} Mbit/s", "many-files-far")
with folder(options.folder, 1) as work:
    (work / "root").mkdir()
    for number in range(options.files):
        write_random(work / "root" / f"f{number:05d}", options.bytes)
    for scheme, port in (("http", 8080), ("https", 8443)):
        urls = [f"{scheme}://10.23.0.2:{port}/f{number:05d}" for number in range(options.files)]
        (work / scheme).write_text("".join(f"{url}\n" for url in urls))
        (work / f"{scheme}.curl").write_text("".join(f'url = "{url}"\n' for url in urls))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
                    "-keyout", work / "key.pem", "-out", work / "cert.pem", "-subj", "/CN=10.23.0.2"], check=True, capture_output=True)
    (work / "nginx.conf").write_text(NGINX.format(work))
    server = f"nginx -p {work} -c {work}/nginx.conf -e {work}/error.log"
    same = [f"--{name}={getattr(options, name)}" for name in ("rtt", "rate", "rounds", "files", "bytes")]
    subprocess.run([options.link, str(options.rtt), str(options.rate), "0", "cubic", server, "--", sys.executable, __file__, *same,
                    f"--client={work}"], check=True)
