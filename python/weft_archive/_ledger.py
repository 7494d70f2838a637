"""The table ``ledger`` below a base: which inputs each batch has, and which batches collections of Solr have."""

import pyarrow as pa

LEDGER = pa.schema([
    # The input, or for ``fed`` the collection.
    pa.field("input", pa.string(), nullable=False),
    pa.field("digest", pa.string()),
    pa.field("size", pa.int64()),
    # done, known (its content was in the tables already), failed, or fed (a collection of Solr has the batch).
    pa.field("state", pa.string(), nullable=False),
    pa.field("records", pa.int64(), nullable=False),
    pa.field("captures", pa.int64(), nullable=False),
    pa.field("links", pa.int64(), nullable=False),
    pa.field("quarantined", pa.int64(), nullable=False),
    pa.field("batch", pa.int64(), nullable=False),
    pa.field("failure", pa.string()),
    # For ``fed``, the identity of the collection.
    pa.field("location", pa.string(), nullable=False),
    # For ``fed``, the versions of the tables that were read, as JSON.
    pa.field("version", pa.string()),
])
