"""How like a visit of a replayed page is to the page as it was captured."""
import difflib
import io
import re
from dataclasses import dataclass

import numpy
from PIL import Image

from .browser import HEIGHT, WIDTH, Seen, good

#: Two pixels are equal if no channel differs by more.
CHANNEL_MAX = 25
#: Words of a text that are compared.
WORDS_MAX = 8000


@dataclass
class Score:
    picture: float
    text: float
    found: float
    #: Errors in the console beyond those of the page as captured.
    errors: int
    live: int
    first_byte_ms: "float | None"
    load_ms: "float | None"
    #: The load of a second visit, and its document's own times.
    again_ms: "float | None" = None
    document_first_byte_ms: "float | None" = None
    document_load_ms: "float | None" = None


def score(captured: Seen, replayed: Seen, original, live: int) -> Score:
    return Score(
        picture=likeness_of_pictures(captured.picture, replayed.picture),
        text=likeness_of_texts(captured.text, replayed.text),
        found=1 - share_missing(captured, replayed, original),
        errors=max(0, len(replayed.errors) - len(captured.errors)),
        live=live,
        first_byte_ms=replayed.first_byte_ms,
        load_ms=replayed.load_ms,
    )


def likeness_of_pictures(one: bytes, other: bytes) -> float:
    if not one or not other:
        return 0.0
    pixels = []
    for picture in (one, other):
        canvas = Image.new("RGB", (WIDTH, HEIGHT), "white")
        canvas.paste(Image.open(io.BytesIO(picture)).convert("RGB"))
        pixels.append(numpy.asarray(canvas, dtype=numpy.int16))
    return float((abs(pixels[0] - pixels[1]).max(axis=2) <= CHANNEL_MAX).mean())


def likeness_of_texts(one: str, other: str) -> float:
    words = [text.split()[:WORDS_MAX] for text in (one, other)]
    if words[0] == words[1]:
        return 1.0
    return difflib.SequenceMatcher(None, *words, autojunk=False).ratio()


def missing(captured: Seen, replayed: Seen, original) -> "list[str]":
    """Returns addresses that were answered at capture, and not in the replay."""
    had = {normal(url) for url, status in captured.statuses.items() if good(status) and not url.endswith("/favicon.ico")}
    found = {normal(original(url) or "") for url, status in replayed.statuses.items() if good(status)}
    return sorted(had - found)


def share_missing(captured: Seen, replayed: Seen, original) -> float:
    had = {normal(url) for url, status in captured.statuses.items() if good(status) and not url.endswith("/favicon.ico")}
    return len(missing(captured, replayed, original)) / len(had) if had else 0.0


def normal(url: str) -> str:
    """Two addresses are the same if they differ in the fragment, or in a number that bypasses caches."""
    url = re.sub(r"([?&]_=)\d+", r"\1", url.split("#")[0])
    return re.sub(r"^(https?://[^/?]+)$", r"\1/", url)
