"""Finds the inputs of a job on the driver, like ``weft load``.

Invariants:
- Names equal those that ``weft load`` gives: they decide between captures of the same time.
- An argument that matches nothing becomes an input with a problem; nothing is dropped silently.
"""

import gzip
import os
from dataclasses import dataclass
from typing import Iterator, List, Optional, Sequence
from urllib.parse import urlsplit

from weft_archive import _weft
from weft_archive.spark._wrong_use import WrongUse

#: Schemes of S3 in Hadoop. The reader calls them ``s3``.
_S3 = ("s3a", "s3n")

#: Schemes that the reader opens itself.
_READ = ("s3", "http", "https")


@dataclass(frozen=True)
class Found:
    """An input. Two inputs with the same location and version have the same bytes."""

    name: str
    location: str
    size: Optional[int]
    #: A value that changes whenever the bytes do. ``None`` for an entry of a list with a prefix, which was not looked up:
    #: by convention the content of such an address never changes.
    version: Optional[str]
    problem: Optional[str]


def find(arguments: Sequence[str], prefix: Optional[str] = None) -> List[Found]:
    """Returns the inputs that the arguments refer to. With a prefix, entries of path lists are addresses below it."""
    plain, found = [], []
    for argument in arguments:
        argument = os.fspath(argument)
        if prefix is not None and _is_list(argument):
            found += [_unseen(prefix + line) for line in _lines(argument.removeprefix("@"))]
        elif _scheme(argument) in ("", *_READ, *_S3):
            plain.append(_address(argument))
        elif _scheme(argument) == "file":
            plain.append(urlsplit(argument).path)
        else:
            found += _below(argument)
    if plain:
        found += map(_seen, _weft.find_inputs(plain))
    return list({each.location: each for each in reversed(found)}.values())[::-1]


def is_read_by_us(location: str) -> bool:
    """Returns whether the reader opens such a location itself. pyarrow copies the others."""
    return _scheme(location) in ("", *_READ)


def _seen(found: tuple) -> Found:
    name, location, size, validator, problem = found
    version = validator
    if not _scheme(location) and problem is None:
        try:
            stat = os.stat(location)
            version = f"{stat.st_size}-{stat.st_mtime_ns}"
        except OSError:
            # The name is not UTF-8, or the file has disappeared: the reader will report that.
            version = None
    # Without a version, a change of the content is noticed only by its digest.
    return Found(name, location, size, version or "", problem)


def _unseen(address: str) -> Found:
    address = _address(address)
    return Found(address, address, None, None, None)


def _address(argument: str) -> str:
    mark = "@" if argument.startswith("@") else ""
    scheme, separator, rest = argument.removeprefix("@").partition("://")
    return f"{mark}s3://{rest}" if separator and scheme.lower() in _S3 else argument


def _scheme(location: str) -> str:
    scheme, separator, _ = location.removeprefix("@").partition("://")
    is_scheme = separator and scheme[:1].isalpha() and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum()
    return scheme.lower() if is_scheme else ""


def _is_list(argument: str) -> bool:
    return argument.startswith("@") or argument.endswith((".paths", ".paths.gz"))


def _lines(path: str) -> Iterator[str]:
    if _scheme(path) not in ("", "file"):
        raise WrongUse(f"{path}: with --prefix, path lists must be local files; copy it here first")
    path = urlsplit(path).path if _scheme(path) else path
    try:
        with open(path, "rb") as file:
            is_compressed = file.read(2) == b"\x1f\x8b"
        with (gzip.open if is_compressed else open)(path, "rt", encoding="utf-8") as lines:
            for line in map(str.strip, lines):
                if line and not line.startswith("#"):
                    yield line
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise WrongUse(f"{path}: the path list cannot be read: {error}") from error


def _below(address: str) -> Iterator[Found]:
    """Yields an address that only pyarrow can open, or all inputs below it if it is a folder."""
    import pyarrow
    import pyarrow.fs

    try:
        files, path = pyarrow.fs.FileSystem.from_uri(address)
        info = files.get_file_info(path)
        if info.type == pyarrow.fs.FileType.Directory:
            listed = files.get_file_info(pyarrow.fs.FileSelector(path, recursive=True))
            infos = [each for each in listed if each.is_file and _weft.is_record_file_name(each.base_name)]
            infos.sort(key=lambda each: each.path)
        else:
            infos = [info]
    except (OSError, pyarrow.ArrowException) as error:
        yield Found(address, address, None, "", str(error))
        return
    if not infos:
        yield Found(address, address, None, "", "no inputs below this address")
    for each in infos:
        place = address.rstrip("/") + each.path[len(path.rstrip("/")):]
        problem = None if each.is_file else "no such input"
        version = f"{each.size}-{each.mtime_ns}" if each.mtime_ns is not None else ""
        yield Found(place, place, each.size, version, problem)
