"""Rows as `weft dump` writes them. The rendering is that of the test of the facts, which is not copied here."""

import pathlib

from conftest import REPOSITORY

_SCRIPT = REPOSITORY / "crates/weft/tests/cli/facts.py"


def _functions():
    """`lines` of the script, which is a program: only its functions are taken."""
    import pyarrow

    source = _SCRIPT.read_text()
    begin, end = source.index("def iso("), source.index("engine = ")
    names = {"pyarrow": pyarrow}
    exec(compile(source[begin:end], str(_SCRIPT), "exec"), names)
    return names


lines = _functions()["lines"]


def dump(folder: pathlib.Path, view: str) -> "list[str]":
    """The lines of a dump."""
    return (folder / f"{view}.tsv").read_bytes().decode().split("\n")[:-1]


#: Columns by which the lines of a view are in order, as in its statement.
ORDER = {
    "captures": "1, 2, 3, 4, 5, 6, 7, 8, 9",
    "domains": "domain",
    "inlinks": "target_key, source_key",
    "links": "source_key, target_key",
    "pages": "url_key",
    "top": "inlinks_external DESC, inlinks DESC, url_key",
    "uris": "url_key",
}
