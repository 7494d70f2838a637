"""The words of texts, as Weft's index has them. Folding and stemming are those of the program."""

import pyarrow as pa

from weft_archive import _weft

#: Columns that follow those of the facts in ``texts``.
WORDS = [
    # Folded words in their order, separated by spaces.
    pa.field("words", pa.string()),
    # Stems that differ from their words, in their order, separated by spaces.
    pa.field("stems", pa.string()),
    # Texts whose values differ in at most six bits are near-duplicates. Missing for a text without words.
    pa.field("likeness", pa.int64()),
]


def with_words(texts: pa.RecordBatch) -> pa.RecordBatch:
    """Adds the columns of words to rows of ``texts``."""
    schema = pa.schema([*texts.schema, *WORDS])
    if not hasattr(_weft, "text_words"):
        # The extension of an earlier version has no words.
        columns = [pa.nulls(texts.num_rows, field.type) for field in WORDS]
    else:
        texts_of, languages = texts.column("text").to_pylist(), texts.column("content_languages").to_pylist()
        columns = pa.record_batch(_weft.text_words(texts_of, languages)).columns
    return pa.RecordBatch.from_arrays([*texts.columns, *columns], schema=schema)
