"""imgcache-server on free ports, with a store of its own."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

token = "a token for tests"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Service:
    def __init__(self, binary, origin, *options):
        self.folder = tempfile.mkdtemp(prefix="imgcache-page-store-")
        token_file = os.path.join(self.folder, "token")
        with open(os.open(token_file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(token + "\n")
        self.data = f"http://127.0.0.1:{free_port()}"
        self.admin = f"http://127.0.0.1:{free_port()}"
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.process = subprocess.Popen(
            [
                binary, "--origin", origin, "--listen", self.data[7:], "--admin", self.admin[7:],
                "--cache-dir", os.path.join(self.folder, "store"), "--admin-token-file", token_file,
                "--access-log", "off", *options,
            ],
            stdout=self.log, stderr=subprocess.STDOUT)
        try:
            self.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def wait_until_ready(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            try:
                if self.get("/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        self.log.seek(0)
        raise RuntimeError("the server did not start:\n" + self.log.read())

    def get(self, path, base=None, method="GET", **fields):
        """Status, fields and content of an answer."""
        request = urllib.request.Request((base or self.admin) + path, headers=fields, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def json(self, path):
        return json.loads(self.get(path)[2])

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
