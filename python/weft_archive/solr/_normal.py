"""URLs as indexes of warc-indexer have them (``url_norm``): SolrWayback looks pages up by the same form.

The rules are those of the aggressive canonicalizer of Wayback, and those that SolrWayback adds to it. URL keys of Weft differ:
they sort arguments, and keep ports and slashes at the end.
"""

import re

#: Parts that are removed, in this order: passwords, ``www.``, sessions. Of several, the last one goes.
_REMOVED = [
    re.compile(pattern)
    for pattern in (
        r"(?:https?|ftps?)://([^/]+@).*",
        r"https?://(www[0-9]*\.)[^/]*/.+",
        r".+(phpsessid=[0-9a-z]{32}&?).*",
        r".*(jsessionid=[0-9a-z]{32}&?).*",
        r".+(aspsessionid[a-z]{8}=[a-z]{24}&?).*",
        r".*/(\([0-9a-z]{24}\)/)[^?]+\.aspx.*",
        r".*/(\((?:[a-z]\([0-9a-z]{24}\))+\)/)[^?]+\.aspx.*",
        r".+(sid=[0-9a-z]{32}&?).*",
        r".+(cfid=[^&]+&cftoken=[^&]+(?:&jsessionid=[^&]+)?&?).*",
    )
]

_WWW = re.compile(r"([a-z]+://)(?:www[0-9]*|ww2|ww)\.(.+)", re.DOTALL)

_PORT = re.compile(r"(http://(?:[^/?#]*\]|[^/?#:]*)):[0-9]*(?=[/?#]|$)")

_NO_PATH = re.compile(r"http://[^/]+")

_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})?")


def url_norm(url: str) -> str:
    """Returns the form in which two spellings of an address are the same."""
    if not url:
        return url
    url = _canonical(url.lower())
    if url.startswith("https://"):
        url = "http://" + url[len("https://") :]
    url = _WWW.sub(r"\1\2", url, count=1) if _WWW.fullmatch(url) else url
    url = url.rstrip("/")
    if not url.startswith("http://"):
        url = "http://" + url
    if _NO_PATH.fullmatch(url):
        url += "/"
    return _PORT.sub(r"\1", _unescaped(url), count=1)


def _canonical(url: str) -> str:
    for pattern in _REMOVED:
        if match := pattern.fullmatch(url):
            url = url[: match.start(1)] + url[match.end(1) :]
    path, mark, query = url.rpartition("?")
    if not path:
        return url
    if query.startswith("&"):
        query = query[1:]
    elif query.endswith("&"):
        query = query[:-1]
    return path + mark + query if query else path


def _unescaped(url: str) -> str:
    """Decodes what needs no escape, and escapes what does: spaces, ``%``, backslashes, bytes that are not UTF-8."""
    raw = _ESCAPE.sub(_byte_or_percent, url.encode("utf-8", "surrogatepass"))
    text, in_query = [], False
    position = 0
    while position < len(raw):
        byte = raw[position : position + 1]
        in_query = in_query or byte == b"?"
        if byte == b"%":
            code = int(raw[position + 1 : position + 3], 16)
            text.append("+" if in_query and code == 0x20 else _kept_or_decoded(code))
            position += 3
        elif byte[0] < 0x80:
            text.append("+" if in_query and byte == b" " else f"%{byte[0]:02x}" if byte in b" \\" else byte.decode())
            position += 1
        else:
            decoded = _character(raw, position)
            text.append(decoded)
            position += 1 if decoded.startswith("%") and decoded.count("%") == 1 else _length(byte[0])
    return "".join(text)


def _byte_or_percent(match: "re.Match[bytes]") -> bytes:
    if match[1] is None:
        return b"%25"
    code = int(match[1], 16)
    return match[0] if code < 0x80 else bytes([code])


def _kept_or_decoded(code: int) -> str:
    return f"%{code:02x}" if chr(code) in " %\\#" else chr(code)


def _length(first: int) -> int:
    """Returns the number of bytes of a character by its first; 1 if no character begins so."""
    return 2 if first >> 5 == 0b110 else 3 if first >> 4 == 0b1110 else 4 if first >> 3 == 0b11110 else 1


def _character(raw: bytes, position: int) -> str:
    """Returns a character beyond ASCII. Those of two bytes are kept, longer ones are escaped, and so is a stray byte."""
    length = _length(raw[position])
    bytes_ = raw[position : position + length]
    is_whole = len(bytes_) == length > 1 and all(byte >> 6 == 0b10 for byte in bytes_[1:])
    if not is_whole:
        return f"%{raw[position]:02x}"
    if length > 2:
        return "".join(f"%{byte:02x}" for byte in bytes_)
    try:
        return bytes_.decode()
    except UnicodeDecodeError:
        return "\ufffd"
