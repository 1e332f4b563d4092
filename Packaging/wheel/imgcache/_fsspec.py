from __future__ import annotations

import errno
import os
from typing import IO, Any

from fsspec.implementations.chained import ChainedFileSystem

from imgcache._errors import StatusError
from imgcache._fetch import fetch


class ImgcacheFileSystem(ChainedFileSystem):
    """Files of web servers through the cache: `fsspec.open("imgcache::https://example.com/data.parquet")`.

    A file is downloaded whole when it is opened or asked for its size. Options of the file system: `cache_dir`, and `options` with
    further options of `imgcache fetch`.
    """

    protocol = "imgcache"
    # The files have names: fsspec.open_local works.
    local_file = True

    def __init__(self, *, cache_dir: str | None = None, options: tuple[str, ...] = (), **others: Any) -> None:
        super().__init__(**others)
        self.cache_dir = cache_dir
        self.options = options

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        return os.fspath(path).removeprefix("imgcache::").removeprefix("imgcache://")

    def _open(self, path: str, mode: str = "rb", **others: Any) -> IO[bytes]:
        if mode != "rb":
            raise ValueError(f"mode {mode!r}: files of the cache can only be read")
        return open(self._fetch(path), "rb")

    def info(self, path: str, **others: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        return {"name": path, "size": os.path.getsize(self._fetch(path)), "type": "file"}

    def ls(self, path: str, detail: bool = True, **others: Any) -> list[Any]:
        info = self.info(path)
        return [info] if detail else [info["name"]]

    def _fetch(self, path: str) -> str:
        try:
            return os.fspath(fetch(path, cache_dir=self.cache_dir, options=self.options))
        except StatusError as error:
            if error.status not in (404, 410):
                raise
            # fsspec takes this, and no other error, for a file that does not exist.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), error.url) from error
