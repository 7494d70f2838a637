"""The extension module. Use the package ``weft_archive``."""

from typing import Iterator, List, Optional, Sequence, Tuple

__version__: str

class Error(Exception):
    """An archive cannot be opened or does not answer. The arguments are a message and a code."""

class Archive:
    """An open archive."""

    def __init__(self, folder: str) -> None: ...
    @property
    def folder(self) -> str: ...
    def ask(self, question: str) -> str:
        """The answer to a question, both in JSON."""

class Batch:
    """A record batch: ``pyarrow.record_batch(batch)``."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> Tuple[object, object]: ...

class Batches(Iterator[Tuple[str, Batch]]):
    """Batches of an input, each with the name of its table."""

    def __iter__(self) -> "Batches": ...
    def __next__(self) -> Tuple[str, Batch]: ...
    def counts(self) -> Tuple[int, int, int]:
        """Records, captures, and parts that could not be used, so far."""
    def failure(self) -> Optional[str]:
        """At the end: why the input counts as failed, if it does."""

class Input:
    """An input whose content is digested."""

    def __init__(self, location: str, copies: str) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def digest(self) -> str: ...
    @property
    def id(self) -> int: ...
    def is_unchanged(self) -> bool: ...
    def batches(
        self, name: str, tables: Sequence[str], *, links: str = "all", collection: str = "", epoch: int = 0
    ) -> Batches: ...

class Stream:
    """One table of inputs. Each stream made of it reads them anew."""

    def __init__(self, arguments: Sequence[str], table: str, links: str, copies: str) -> None: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...

def find_inputs(arguments: Sequence[str]) -> List[Tuple[str, str, int, Optional[str], Optional[str]]]:
    """Name, location, size, validator and problem of each input that arguments of ``weft load`` mean."""

def is_record_file_name(name: str) -> bool:
    """Whether a file with this name holds records."""

def text_words(texts: Sequence[Optional[str]], languages: Sequence[Optional[str]]) -> Batch:
    """Folded words, stems and likeness of each text in its language: ``words``, ``stems``, ``likeness``."""

def views() -> List[Tuple[str, str]]:
    """Name and statement of every view."""
