from __future__ import annotations

import os


def program() -> str:
    """Returns the path of the command imgcache: $IMGCACHE_PROGRAM, or the one installed with this package, or the one on PATH."""
    if chosen := os.environ.get("IMGCACHE_PROGRAM"):
        return chosen
    import shutil
    import sysconfig

    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme="posix_user"),
        # pip install --target
        os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"),
    ]
    for folder in folders:
        path = os.path.join(folder, "imgcache")
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("imgcache")
    if found is None:
        raise FileNotFoundError("the command imgcache is not installed: run pip install --force-reinstall imgcache")
    return found
