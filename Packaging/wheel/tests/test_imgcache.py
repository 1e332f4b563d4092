"""Tests of the Python package with a real command: $IMGCACHE_PROGRAM, or the installed one.

Run them with pytest, or with `python3 -m unittest discover -s Packaging/wheel/tests`.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import importlib.util
import multiprocessing
import os
import pathlib
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import imgcache  # noqa: E402

BODY = bytes(range(256)) * 4096
# Half of it is more than the buffers between a server and a client hold.
LONG_BODY = BODY * 24
ETAG = '"v1"'


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves BODY below every path but /missing, /gone and, without the user a, /private, and LONG_BODY as /held, of which it sends half
    until the test lets it continue."""

    protocol_version = "HTTP/1.1"
    server: Origin

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.requests.append((self.path, self.headers.get("Range")))
        if self.path in ("/missing", "/gone"):
            return self.send_error(404 if self.path == "/missing" else 410)
        if self.path == "/private" and self.headers.get("Authorization") != "Basic " + base64.b64encode(b"a:b").decode():
            return self.send_error(403)
        body = LONG_BODY if self.path == "/held" else BODY
        start = 0
        if (wanted := self.headers.get("Range")) and self.headers.get("If-Range") in (None, ETAG):
            start = int(wanted.removeprefix("bytes=").split("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("ETag", ETAG)
        self.send_header("Cache-Control", "max-age=3600")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.end_headers()
        try:
            if self.path == "/held" and not start:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
                self.wfile.write(body[: len(body) // 2])
                self.server.half_sent.set()
                self.server.continues.wait(30)
                start = len(body) // 2
            self.wfile.write(body[start:])
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class Origin(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.requests: list[tuple[str, str | None]] = []
        self.half_sent = threading.Event()
        self.continues = threading.Event()

    def url(self, path: str, user: str = "") -> str:
        return f"http://{user}127.0.0.1:{self.server_port}/{path}"


def fetch_in_process(url: str, cache: str) -> bytes:
    return imgcache.fetch(url, cache_dir=cache).read_bytes()


class PackageTests(unittest.TestCase):
    def setUp(self) -> None:
        self.origin = Origin()
        thread = threading.Thread(target=self.origin.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = str(self.folder / "cache")
        self.addCleanup(self.origin.server_close)
        self.addCleanup(self.origin.shutdown)
        self.addCleanup(self.origin.continues.set)
        os.environ["IMGCACHE_DIR"] = self.cache

    def test_a_file_is_fetched_once(self) -> None:
        digest = hashlib.sha256(BODY).hexdigest()
        path = imgcache.fetch(self.origin.url("a"), sha256=digest)
        self.assertEqual(path.read_bytes(), BODY)
        self.assertEqual(imgcache.fetch(self.origin.url("a")), path)
        self.assertEqual(len(self.origin.requests), 1)

    def test_a_file_is_written_to_the_output(self) -> None:
        output = self.folder / "out.bin"
        self.assertEqual(imgcache.fetch(self.origin.url("a"), output=output), output)
        self.assertEqual(output.read_bytes(), BODY)

    def test_a_list_yields_files_and_errors(self) -> None:
        urls = [self.origin.url(name) for name in ("a", "b", "missing")]
        items = {item.url: item for item in imgcache.fetch_all(urls, directory=self.folder / "data")}
        self.assertEqual(set(items), set(urls))
        self.assertEqual(items[urls[1]].path, self.folder / "data" / "b")
        self.assertEqual((self.folder / "data" / "a").read_bytes(), BODY)
        self.assertEqual(items[urls[0]].size, len(BODY))
        error = items[urls[2]].error
        self.assertIsInstance(error, imgcache.StatusError)
        self.assertNotIn("standard input", str(error))
        self.assertIsNone(items[urls[2]].path)

    def test_the_items_of_a_list_have_the_urls_that_were_given(self) -> None:
        urls = [self.origin.url(name) for name in ("b", "b", "c?d=@e")]
        urls += [self.origin.url("a", "a:b@")] * 2 + ["HTTP" + self.origin.url("d").removeprefix("http")]
        items = list(imgcache.fetch_all(urls))
        self.assertEqual(sorted(item.url for item in items), sorted(urls))
        self.assertEqual([item.error for item in items], [None] * len(urls))

    def test_urls_that_differ_only_in_their_users_have_their_own_items(self) -> None:
        urls = [self.origin.url("private", user) for user in ("c:d@", "a:b@", "", "a:b@", "a@b:c@")]
        items = list(imgcache.fetch_all(urls))
        self.assertEqual([item.url for item in items], urls)
        self.assertEqual([item.error is None for item in items], [False, True, False, True, False])
        for item in items:
            if item.error is not None:
                self.assertEqual((item.error.url, item.error.status), (self.origin.url("private"), 403))

    def test_a_directory_may_begin_with_a_dash(self) -> None:
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for directory in ("-x", "--force", pathlib.Path("-")):
            items = list(imgcache.fetch_all([self.origin.url("a")], directory=directory))
            self.assertEqual([(item.path, item.error) for item in items], [(pathlib.Path(directory) / "a", None)])
            self.assertEqual((self.folder / directory / "a").read_bytes(), BODY)

    def test_an_empty_list_yields_nothing(self) -> None:
        self.assertEqual(list(imgcache.fetch_all([])), [])

    def test_a_line_that_is_not_a_url_is_rejected_before_anything_is_fetched(self) -> None:
        for wrong in ("http://a\n out=b", "file:///etc/passwd", "#a", "http://a b"):
            with self.assertRaises(imgcache.UsageError):
                imgcache.fetch_all([self.origin.url("a"), wrong])
        self.assertEqual(self.origin.requests, [])

    def test_errors_have_their_class_kind_and_url(self) -> None:
        with self.assertRaises(imgcache.StatusError) as status:
            imgcache.fetch(self.origin.url("missing"))
        self.assertEqual((status.exception.kind, status.exception.exit_code), ("status", 4))
        self.assertEqual((status.exception.url, status.exception.status), (self.origin.url("missing"), 404))
        with self.assertRaises(imgcache.WrongBytesError):
            imgcache.fetch(self.origin.url("a"), sha256="0" * 64)
        with self.assertRaises(imgcache.NotCachedError):
            imgcache.fetch(self.origin.url("b"), options=["--offline"])
        with self.assertRaises(imgcache.UsageError):
            imgcache.fetch(self.origin.url("a"), options=["--no-such-option"])
        with self.assertRaises(imgcache.UsageError):
            imgcache.fetch("--version")
        with self.assertRaises(imgcache.UnreachableError):
            imgcache.fetch("http://127.0.0.1:1/a", options=["--retry", "0"])
        copy = pickle.loads(pickle.dumps(status.exception))
        self.assertEqual((type(copy), copy.kind, str(copy)), (imgcache.StatusError, "status", str(status.exception)))
        self.assertEqual((copy.url, copy.status), (status.exception.url, 404))

    def test_processes_share_one_download(self) -> None:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(4, mp_context=context) as pool:
            bodies = list(pool.map(fetch_in_process, [self.origin.url("a")] * 4, [self.cache] * 4))
        self.assertEqual(bodies, [BODY] * 4)
        self.assertEqual(len(self.origin.requests), 1)

    def test_an_interrupted_download_is_resumed(self) -> None:
        url = self.origin.url("held")
        code = f"import imgcache; imgcache.fetch({url!r})"
        environment = os.environ | {"PYTHONPATH": str(pathlib.Path(imgcache.__file__).parent.parent)}
        child = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stderr=subprocess.DEVNULL,
            # In the background of a shell, these tests ignore the signal, and their children would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.assertTrue(self.origin.half_sent.wait(30))
        # Only Python is interrupted, as by Jupyter; a terminal interrupts the command as well.
        child.send_signal(signal.SIGINT)
        self.assertNotEqual(child.wait(30), 0)
        self.origin.continues.set()
        self.assertEqual(imgcache.fetch(url).read_bytes(), LONG_BODY)
        ranges = [range for _, range in self.origin.requests[1:]]
        self.assertTrue(ranges and all(ranges), self.origin.requests)

    def test_progress_is_told_from_the_first_bytes_to_the_last(self) -> None:
        told: list[imgcache.Progress] = []

        def note(progress: imgcache.Progress) -> None:
            told.append(progress)
            # The rest comes when the first half has been told.
            if progress.received >= len(LONG_BODY) // 2:
                self.origin.continues.set()

        imgcache.fetch(self.origin.url("held"), cache_dir=self.cache, progress=note)
        self.assertEqual(told[-1], imgcache.Progress(len(LONG_BODY), len(LONG_BODY), 1, 1))
        received = [progress.received for progress in told]
        self.assertEqual(received, sorted(received))
        self.assertGreater(len(told), 1)

    def test_progress_of_a_list_counts_its_files(self) -> None:
        told: list[imgcache.Progress] = []
        urls = [self.origin.url(f"{number}") for number in range(3)]
        items = list(imgcache.fetch_all(urls, cache_dir=self.cache, progress=told.append))
        self.assertEqual(len(items), 3)
        self.assertEqual(told[-1], imgcache.Progress(3 * len(BODY), 3 * len(BODY), 3, 3))

    def test_an_abandoned_list_leaves_no_process(self) -> None:
        items = imgcache.fetch_all([self.origin.url("a"), self.origin.url("held")])
        self.assertEqual(next(items).url, self.origin.url("a"))
        items.close()  # type: ignore[attr-defined]
        children = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "comm="], capture_output=True, text=True).stdout
        self.assertNotIn("imgcache", children.split())

    def test_pooch_downloads_through_the_cache(self) -> None:
        output = self.folder / "out.bin"
        imgcache.pooch(self.origin.url("a"), output, None)
        with open(self.folder / "other.bin", "w+b") as file:
            imgcache.pooch(self.origin.url("a"), file, None)
            file.seek(0)
            self.assertEqual(file.read(), BODY)
        self.assertEqual(output.read_bytes(), BODY)
        self.assertTrue(imgcache.pooch(self.origin.url("a"), output, None, check_only=True))
        self.assertFalse(imgcache.pooch(self.origin.url("missing"), output, None, check_only=True))

    @unittest.skipUnless(importlib.util.find_spec("pooch"), "pooch is not installed")
    def test_pooch_retrieves_with_the_downloader(self) -> None:
        import pooch

        digest = "sha256:" + hashlib.sha256(BODY).hexdigest()
        path = pooch.retrieve(self.origin.url("a"), digest, path=self.folder / "pooch", downloader=imgcache.pooch)
        self.assertEqual(pathlib.Path(path).read_bytes(), BODY)

    @unittest.skipUnless(importlib.util.find_spec("fsspec"), "fsspec is not installed")
    def test_fsspec_reads_through_the_cache(self) -> None:
        import fsspec
        from fsspec.implementations.memory import MemoryFileSystem

        from imgcache._fsspec import ImgcacheFileSystem

        fsspec.register_implementation("imgcache", ImgcacheFileSystem, clobber=True)
        # The file system of http URLs needs aiohttp; here it is only named.
        fsspec.register_implementation("http", type("HTTP", (MemoryFileSystem,), {"_strip_protocol": str}), clobber=True)
        with fsspec.open("imgcache::" + self.origin.url("a")) as file:
            file.seek(len(BODY) - 4)
            self.assertEqual(file.read(), BODY[-4:])
        files = ImgcacheFileSystem()
        self.assertEqual(files.cat(self.origin.url("a"))[:4], BODY[:4])
        self.assertEqual(files.size(self.origin.url("a")), len(BODY))
        self.assertEqual(len(self.origin.requests), 1)
        with self.assertRaises(ValueError):
            files.open(self.origin.url("a"), "wb")
        for path in ("missing", "gone"):
            with self.assertRaises(FileNotFoundError):
                files.info(self.origin.url(path))
            self.assertFalse(files.isdir(self.origin.url(path)) or files.exists(self.origin.url(path)))
        with self.assertRaises(imgcache.StatusError):
            files.info(self.origin.url("private"))

    def test_the_import_loads_neither_sockets_nor_processes(self) -> None:
        code = "import sys, imgcache; sys.exit(any(name in sys.modules for name in ('subprocess', 'socket', 'tempfile')))"
        environment = os.environ | {"PYTHONPATH": str(pathlib.Path(imgcache.__file__).parent.parent)}
        self.assertEqual(subprocess.run([sys.executable, "-c", code], env=environment).returncode, 0)


if __name__ == "__main__":
    unittest.main()
