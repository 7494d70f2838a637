"""What `bench/figures.py` reads of the programs of bench, and the table that it writes."""

import importlib.util
import sys

import pytest

from conftest import REPOSITORY

spec = importlib.util.spec_from_file_location("figures", REPOSITORY / "bench/figures.py")
figures = importlib.util.module_from_spec(spec)
sys.modules["figures"] = figures
spec.loader.exec_module(figures)

CDX = """\
100000 captures, 8 connections, one core for the server
server                         look-ups/s           CPU us  look-ups/s per core
weft /cdx                            9000             50.0                20000
weft /cdx/search/cdx                 8000             60.0                16000
"""

STORE = """
128 objects of 1 MB, 8 concurrently, medians of 3 rounds
                    MB/s    requests/s     / plain       / raw   CPU ms per MB
put raw            400.0           400       2.00x       1.00x
put face           100.0           100       1.00x       0.50x            3.00
put minio           80.0            80       1.00x       0.50x            3.00
get face           900.0           900       1.00x                        1.00
get minio          450.0           450       1.00x                        1.00

3200 objects of 4 KB, 32 concurrently, medians of 3 rounds
put face             1.0           250       1.00x       0.50x            3.00
put minio            1.0           500       1.00x       0.50x            3.00
get face             9.0          2250       1.00x                        1.00
get minio            9.0          2250       1.00x                        1.00
"""

RELEVANCE = """\
| collection | documents | queries | plain BM25: MAP | P30 | as typed: MAP | P30 | ratio of MAP | without a result |
|---|---|---|---|---|---|---|---|---|
| CACM | 3204 | 52 | 0.2000 | 0.1500 | 0.3000 | 0.1900 | 1.500 | 0 |

10 known items among 20 pages of 3 crawls
| ranking | CACM MAP |
"""


def test_rows_are_read_from_what_the_programs_print():
    found = figures.of_cdx(CDX + "OutbackCDX 1.2.2                     4000            100.0                10000\n")
    found += figures.of_store(STORE) + figures.of_relevance(RELEVANCE)
    assert figures.table(found).splitlines()[2:] == [
        "| captures of a URL over HTTP, look-ups/s a core | 20,000 | 10,000 (OutbackCDX 1.2.2) | 2.00 |",
        "| S3 PUT of 1 MB, MB/s | 100 | 80 (MinIO) | 1.25 |",
        "| S3 GET of 1 MB, MB/s | 900 | 450 (MinIO) | 2.00 |",
        "| S3 PUT of 4 KB, requests/s | 250 | 500 (MinIO) | 0.50 |",
        "| S3 GET of 4 KB, requests/s | 2,250 | 2,250 (MinIO) | 1.00 |",
        "| relevance, CACM: MAP of 52 queries as typed | 0.3000 | 0.2000 (plain BM25) | 1.50 |",
    ]


def test_what_is_missing_is_named():
    rows = figures.of_cdx(CDX + "OutbackCDX 1.2.2: not measured: run mvn package: No such file\n")
    rows += figures.of_store("MinIO: not measured: minio cannot be run\n" + STORE.replace("minio", "other"))
    with pytest.raises(figures.NotMeasured, match="data is missing"):
        figures.of_relevance("data is missing: relevance is not measured\n")
    page = figures.page(rows, ["relevance: data is missing"], ["commit 1"])
    assert "| 20,000 | OutbackCDX: not measured |  |" in page, page
    for line in (
        "- commit 1",
        "- MinIO: minio cannot be run",
        "- OutbackCDX: run mvn package: No such file",
        "- relevance: data is missing",
    ):
        assert line in page.splitlines(), page


def test_less_cpu_is_a_better_ratio():
    row = figures.Row("CPU", 500.0, "other", 1000.0, less_is_better=True)
    assert row.cells()[3] == "2.00"
