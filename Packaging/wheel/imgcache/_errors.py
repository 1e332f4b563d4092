from __future__ import annotations


class ImgcacheError(Exception):
    """A download failed.

    `kind` is the stable name of the error in the command's JSON output, such as "held" or "redirect". `exit_code` is the command's exit
    code, which also selects the class of the error. `url` is the URL that failed, without a user and password, or None. `status` is the
    status code of an HTTP response that is the reason, or None.
    """

    def __init__(
        self, message: str, *, exit_code: int, kind: str, url: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.kind = kind
        self.url = url
        self.status = status

    # Exceptions are pickled by their positional arguments; those between processes need the others too.
    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), str(self), self.exit_code, self.kind, self.url, self.status)


class UsageError(ImgcacheError):
    """An argument is invalid (exit code 2)."""


class UnreachableError(ImgcacheError):
    """The server cannot be reached, or the transfer broke off and all retries failed (exit code 3)."""


class StatusError(ImgcacheError):
    """The server responded with an error status, or with a redirect that is not followed (exit code 4)."""


class WrongBytesError(ImgcacheError):
    """The bytes do not match the digest or the length (exit code 5)."""


class StoreError(ImgcacheError):
    """The cache is full or cannot be used, or the output cannot be written (exit code 6)."""


class NotCachedError(ImgcacheError):
    """The file is not in the cache, and the network is not used (exit code 7)."""


class CancelledError(ImgcacheError):
    """The command was interrupted (exit code 130)."""


_classes: dict[int, type[ImgcacheError]] = {
    2: UsageError,
    3: UnreachableError,
    4: StatusError,
    5: WrongBytesError,
    6: StoreError,
    7: NotCachedError,
    130: CancelledError,
}

_kinds = {2: "usage", 3: "unreachable", 4: "status", 5: "wrong-bytes", 6: "output", 7: "not-cached", 130: "cancelled"}


def error_for(
    exit_code: int, message: str, *, kind: str | None = None, url: str | None = None, status: int | None = None
) -> ImgcacheError:
    """Returns the error for an exit code of the command."""
    error = _classes.get(exit_code, ImgcacheError)
    return error(message, exit_code=exit_code, kind=kind or _kinds.get(exit_code, "other"), url=url, status=status)


def _rebuilt(
    error: type[ImgcacheError], message: str, exit_code: int, kind: str, url: str | None, status: int | None
) -> ImgcacheError:
    return error(message, exit_code=exit_code, kind=kind, url=url, status=status)
