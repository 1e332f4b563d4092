"""Downloads that resume after a cut or a kill and are cached: the command imgcache for Python.

    import imgcache

    path = imgcache.fetch("https://example.com/model.bin", sha256="…")
    for item in imgcache.fetch_all(urls, directory="data"):
        print(item.url, item.path or item.error)
"""

from imgcache._errors import (
    CancelledError,
    ImgcacheError,
    NotCachedError,
    StatusError,
    StoreError,
    UnreachableError,
    UsageError,
    WrongBytesError,
)
from imgcache._fetch import Item, Progress, fetch, fetch_all
from imgcache._pooch import pooch
from imgcache._program import program

__all__ = [
    "CancelledError",
    "ImgcacheError",
    "Item",
    "NotCachedError",
    "Progress",
    "StatusError",
    "StoreError",
    "UnreachableError",
    "UsageError",
    "WrongBytesError",
    "fetch",
    "fetch_all",
    "pooch",
    "program",
]
