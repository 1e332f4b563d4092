from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Union

from imgcache._errors import ImgcacheError, error_for
from imgcache._program import program

if TYPE_CHECKING:
    import subprocess

StrPath = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Item:
    """The result for one URL of a run.

    `url` is the URL as it was given. Either `path` is the file and `error` is None, or `error` is the reason and `path` is None. `source`
    says where the bytes came from: "network", "resumed", "fresh", "revalidated" and others.
    """

    url: str
    path: Path | None = None
    size: int | None = None
    source: str | None = None
    error: ImgcacheError | None = None


@dataclass(frozen=True)
class Progress:
    """The progress of a run, ten times a second.

    `received` counts the bytes that are there, also those that were resumed or stored before. `total` is None as long as the size of a file
    is unknown.
    """

    received: int
    total: int | None
    finished: int
    files: int


ProgressCallback = Callable[[Progress], None]


def fetch(
    url: str,
    *,
    sha256: str | None = None,
    output: StrPath | None = None,
    mirrors: Iterable[str] = (),
    cache_dir: StrPath | None = None,
    progress: ProgressCallback | None = None,
    show_progress: bool = False,
    options: Sequence[str] = (),
) -> Path:
    """Downloads a file through the cache and returns its path. An interrupted download is resumed by the next call.

    The path is the cached file, which must not be changed, or `output`. `sha256` is the digest, in hexadecimal, that the file must have.
    `mirrors` are further URLs of the same file. `progress` is called with the progress. `show_progress` draws it on standard error: with
    tqdm if that is installed, as in a notebook; otherwise by the command. `options` are further options of `imgcache fetch`, such as
    `["--offline"]`.
    """
    # With "=", a value may begin with a dash.
    words = ["--sha256=" + sha256] if sha256 is not None else []
    for mirror in mirrors:
        words.append("--mirror=" + mirror)
    if output is not None:
        # For the command, "-" is standard output.
        words.append("--output=" + (os.path.join(".", output) if os.fspath(output) == "-" else os.fspath(output)))
    words += _common_words(cache_dir, options)
    # To the end: the command may still have to store what it has reported.
    for item in list(_items([*words, "--", url], None, progress, show_progress)):
        if item.error is not None:
            raise item.error
        if item.path is not None:
            return item.path
    raise ImgcacheError("the command reported no result", exit_code=0, kind="other", url=url)


def fetch_all(
    urls: Iterable[str],
    *,
    directory: StrPath | None = None,
    parallel: int | None = None,
    cache_dir: StrPath | None = None,
    progress: ProgressCallback | None = None,
    show_progress: bool = False,
    options: Sequence[str] = (),
) -> Iterator[Item]:
    """Downloads files in parallel and yields one item for each URL, in order of completion.

    A failed URL is an item with an error; the others are still downloaded. The files are put into `directory`, or stay in the cache. If
    the iteration is abandoned, running downloads are interrupted, and the next call resumes them. `urls` is read to its end first.
    """
    words = ["--directory=" + os.fspath(directory)] if directory is not None else []
    if parallel is not None:
        words.append(f"--parallel={parallel}")
    words += _common_words(cache_dir, options)
    listed = list(urls)
    for url in listed:
        # Another line of the list could be something other than a URL.
        if not url.lower().startswith(("http://", "https://")) or any(character.isspace() for character in url):
            raise error_for(2, f"{url!r} is not an http or https URL", kind="invalid-request", url=url)
    if not listed:
        return iter(())
    given = _Given(listed)
    if given.is_ambiguous:
        words.append("--ordered")
    return _items([*words, "--input-file", "-"], given, progress, show_progress)


class _Given:
    """The URLs of a list by their names in the command's results, which have no user and password."""

    # The name of the list in the command's results.
    _list = "standard input:"

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls
        names = [self._name(url) for url in urls]
        changed = {name for name, url in zip(names, urls) if name != url}
        self._waiting: dict[str, list[str]] = {}
        for name, url in zip(names, urls):
            if name in changed:
                self._waiting.setdefault(name, []).append(url)

    @property
    def is_ambiguous(self) -> bool:
        """True if several URLs have the same name: then the results must come in the order of the list."""
        return any(len(set(urls)) > 1 for urls in self._waiting.values())

    def url(self, name: str) -> str:
        """Returns the URL of the next result with a name."""
        if waiting := self._waiting.get(name):
            return waiting.pop(0)
        line = name.removeprefix(self._list)
        # A line that the command cannot read.
        return self.urls[int(line) - 1] if line != name and line.isdecimal() else name

    def message(self, text: str) -> str:
        """Returns a message without the position in the list."""
        line, separator, rest = text.removeprefix(self._list).partition(": ")
        return rest if separator and line.isdecimal() and text.startswith(self._list) else text

    @staticmethod
    def _name(url: str) -> str:
        scheme, separator, rest = url.partition("://")
        end = min((rest.index(mark) for mark in "/?" if mark in rest), default=len(rest))
        return scheme + separator + rest[:end].rpartition("@")[2] + rest[end:]


def _common_words(cache_dir: StrPath | None, options: Sequence[str]) -> list[str]:
    words = ["--cache-dir=" + os.fspath(cache_dir)] if cache_dir is not None else []
    return [*words, *options]


def _bar() -> Any:
    """A progress bar of tqdm, or None if it is not installed."""
    import importlib

    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return None
    return tqdm(unit="B", unit_scale=True, unit_divisor=1024)


def _items(
    words: list[str], given: _Given | None, progress: ProgressCallback | None, show_progress: bool
) -> Iterator[Item]:
    """Runs `imgcache fetch --json` with a list on standard input, and yields its results."""
    bar = _bar() if show_progress else None

    def tell(now: Progress) -> None:
        if progress is not None:
            progress(now)
        if bar is not None:
            bar.total = now.total
            bar.update(now.received - bar.n)

    try:
        if bar is None and progress is None:
            yield from _run([*([] if show_progress else ["--quiet"]), *words], given, None, show_progress)
        else:
            yield from _run(["--quiet", "--json-progress", *words], given, tell, False)
    finally:
        if bar is not None:
            bar.close()


def _run(words: list[str], given: _Given | None, tell: ProgressCallback | None, is_shown: bool) -> Iterator[Item]:
    # Imported here: an import of the package takes a few milliseconds less.
    import subprocess
    import tempfile

    # Files in place of pipes: nothing waits for a reader.
    with tempfile.TemporaryFile() as lines, tempfile.TemporaryFile() as messages:
        if given is not None:
            lines.write("".join(url + "\n" for url in given.urls).encode())
            lines.seek(0)
        child = subprocess.Popen(
            [program(), "fetch", "--json", *words],
            stdin=lines,
            stdout=subprocess.PIPE,
            stderr=None if is_shown else messages,
        )
        has_failed = False
        try:
            assert child.stdout is not None
            for line in child.stdout:
                try:
                    result = json.loads(line)
                except ValueError:
                    # The command was killed in the middle of a line: its exit status says so.
                    break
                if result.get("type") == "progress":
                    if tell is not None:
                        tell(Progress(result["received"], result.get("total"), result["finished"], result["files"]))
                    continue
                item = _item(result, given)
                has_failed = has_failed or item.error is not None
                yield item
            status = child.wait()
        finally:
            _end(child)
        if status != 0 and not has_failed:
            raise _failure(status, messages)


def _item(result: dict[str, Any], given: _Given | None) -> Item:
    name: str = result["url"]
    url = name if given is None else given.url(name)
    if "error" in result:
        message = result["error"] if given is None else given.message(result["error"])
        status = result.get("status")
        return Item(url, error=error_for(result["exit_code"], message, kind=result.get("kind"), url=name, status=status))
    path = result.get("output") or result.get("path")
    return Item(url, path=Path(path) if path else None, size=result.get("size"), source=result.get("source"))


def _failure(status: int, messages: IO[bytes]) -> ImgcacheError:
    messages.seek(0)
    text = messages.read().decode(errors="replace").strip() or "see standard error"
    if status < 0:
        return ImgcacheError(f"the command was ended by signal {-status}: {text}", exit_code=128 - status, kind="other")
    return error_for(status, text.removeprefix("imgcache: ").removeprefix("Error: "))


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends a command that is still running, so that it keeps what it has received."""
    import signal
    import subprocess

    def ends(seconds: float) -> bool:
        # What it writes is read to its end: a closed pipe would end it before it has stored everything.
        try:
            child.communicate(timeout=seconds)
        except (subprocess.TimeoutExpired, ValueError):
            return child.poll() is not None
        return True

    # A terminal sends Ctrl-C to the command as well, and a second signal would end it at once.
    is_interrupted = isinstance(sys.exc_info()[1], KeyboardInterrupt)
    if child.poll() is None and not (is_interrupted and ends(3)):
        # Not SIGINT, which a program in the background may ignore.
        child.send_signal(signal.SIGTERM)
        if not ends(10):
            child.kill()
            child.wait()
    if child.stdout is not None:
        child.stdout.close()
