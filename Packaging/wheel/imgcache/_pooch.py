from __future__ import annotations

import os
from typing import IO, Any

from imgcache._errors import ImgcacheError
from imgcache._fetch import StrPath, fetch


def pooch(url: str, output_file: StrPath | IO[bytes], pooch: Any, check_only: bool = False) -> bool | None:
    """A downloader of pooch: `pooch.retrieve(url, known_hash, downloader=imgcache.pooch)`.

    An interrupted download is resumed by the next call. pooch verifies the digest. With `check_only`, returns True if the file can be
    downloaded, which downloads it into the cache.
    """
    if check_only:
        try:
            fetch(url)
        except ImgcacheError:
            return False
        return True
    if isinstance(output_file, (str, os.PathLike)):
        fetch(url, output=output_file)
        return None
    import shutil

    with open(fetch(url), "rb") as file:
        shutil.copyfileobj(file, output_file)
    return None
