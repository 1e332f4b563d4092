"""A TCP proxy that can stop: after so many body bytes it forwards nothing more, until its client goes away."""

import fcntl
import socket
import struct
import termios
import threading
import time


class StoppingProxy:
    """Forwards connections to `target`. With `budget` set, that many bytes of bodies pass in all, then silence."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._lock = threading.Lock()
        self._left: int | None = None
        self._stopped: socket.socket | None = None
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def set_budget(self, budget: int | None) -> None:
        with self._lock:
            self._left = budget
            self._stopped = None

    def wait_until_drained(self, timeout: float = 60) -> None:
        """Returns when the budget is used up and the client has read all of it from its socket."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            with self._lock:
                stopped = self._stopped
            if stopped is not None and _unacknowledged(stopped) == 0 and _unread(stopped.getpeername()[1]) == 0:
                return
            time.sleep(0.01)
        raise SystemExit("the client did not read what it was sent")

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            upstream = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._requests, args=(client, upstream), daemon=True).start()
            threading.Thread(target=self._responses, args=(upstream, client), daemon=True).start()

    def _requests(self, client: socket.socket, upstream: socket.socket) -> None:
        try:
            while data := client.recv(65536):
                upstream.sendall(data)
        except OSError:
            pass
        finally:
            _shut(upstream, client)

    def _responses(self, upstream: socket.socket, client: socket.socket) -> None:
        head: bytes | None = b""
        try:
            while data := upstream.recv(1 << 20):
                with self._lock:
                    limited = self._left is not None
                if limited:
                    if head is not None:  # only the first response's head is told from body: one request each is enough
                        head += data
                        if b"\r\n\r\n" not in head:
                            continue
                        start = head.index(b"\r\n\r\n") + 4
                        client.sendall(head[:start])
                        data, head = head[start:], None
                    if not self._within_budget(data, client):
                        return  # silence; the sockets stay open until the client goes
                else:
                    client.sendall(data)
            _shut(client, upstream)
        except OSError:
            _shut(client, upstream)

    def _within_budget(self, data: bytes, client: socket.socket) -> bool:
        with self._lock:
            left = len(data) if self._left is None else self._left
            passed = data[:left]
            if self._left is not None:
                self._left -= len(passed)
        client.sendall(passed)
        if len(passed) == len(data):
            return True
        with self._lock:
            self._stopped = client
        return False


def _shut(*ends: socket.socket) -> None:
    for end in ends:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def _unacknowledged(connection: socket.socket) -> int:
    """Bytes in the send queue (SIOCOUTQ)."""
    return struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4))[0]


def _unread(client_port: int) -> int:
    """Bytes in the receive queue of the socket at the client's end."""
    with open("/proc/net/tcp") as table:
        for line in table.readlines()[1:]:
            fields = line.split()
            if int(fields[1].split(":")[1], 16) == client_port and fields[3] == "01":
                return int(fields[4].split(":")[1], 16)
    return 0
