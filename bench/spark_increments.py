"""Serving tables by increments and by recomputation: a batch of 1, 10 and 50 % of the pages that are there.

    ~/.cache/weft/python-venv/bin/python bench/spark_increments.py --weft target/release/weft [--pages 100000]

`make python` makes that environment. Spark runs in one process with two threads. The batch is of the same made-up web as the
pages before it, so its keys are spread over all keys, which is the worst case; with --other-web it is of another web. Seconds are
of the clock and of processors (Java and Python), which count on a machine with other work. The time of an increment by a batch of
one page is that of Spark's own work.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python/tests"))

import cluster as clusters  # noqa: E402 (it is beside the tests)
import weft_archive as weft  # noqa: E402
import weft_archive.spark  # noqa: E402


def cpu_seconds() -> float:
    """Processor time of this process and of all below it."""
    times, parents = {}, {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            # Children that have ended are counted in their parent.
            times[int(folder.name)] = sum(map(int, fields[11:15]))

    def is_ours(process: int) -> bool:
        while process > 1:
            if process == os.getpid():
                return True
            process = parents.get(process, 0)
        return False

    return sum(ticks for process, ticks in times.items() if is_ours(process)) / os.sysconf("SC_CLK_TCK")


class Timed:
    """Measures what runs within."""

    def __enter__(self) -> "Timed":
        self.begun, self.cpu_begun = time.perf_counter(), cpu_seconds()
        return self

    def __exit__(self, *_) -> None:
        self.seconds, self.cpu = time.perf_counter() - self.begun, cpu_seconds() - self.cpu_begun


def synth(asked: argparse.Namespace, path: pathlib.Path, pages: int, files: int, seed: int) -> "list[str]":
    path.parent.mkdir()
    numbered = ["--files", str(files), "--seed", str(seed), str(path)]
    command = [asked.weft, "synth", "--format", "wat", "--pages", str(pages), *numbered]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return sorted(map(str, path.parent.iterdir()))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--weft", default=str(HERE.parent / "target/release/weft"), help="the program")
    arguments.add_argument("--pages", type=int, default=100_000, help="pages before the batch")
    arguments.add_argument("--percent", type=int, nargs="*", default=[1, 10, 50])
    arguments.add_argument("--other-web", action="store_true", help="batches of another web")
    arguments.add_argument("--recompute", type=int, nargs="*", help="sizes of batches after which all is made anew (default: all)")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        measure(asked, pathlib.Path(temporary))


def measure(asked: argparse.Namespace, folder: pathlib.Path) -> None:
    # Files of one hundredth of the pages before the batch each.
    files = synth(asked, folder / "web" / "web.wat.gz", asked.pages * 3 // 2, 150, 1)
    before, later = files[:100], files[100:]
    if asked.other_web:
        later = synth(asked, folder / "other" / "other.wat.gz", asked.pages // 2, 50, 2)
    [page] = synth(asked, folder / "page" / "page.wat.gz", 1, 1, 3)
    conf = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "4"}
    conf.update({name: clusters.SETTINGS[name] for name in ("spark.driver.host", "spark.driver.bindAddress")})
    spark = weft.spark.session("local[2]", conf={**conf, "spark.driver.memory": "2g"})
    spark.sparkContext.setLogLevel("ERROR")
    base = folder / "base"
    with Timed() as loading:
        weft.spark.load(spark, str(base), before)
    with Timed() as first:
        served = weft.spark.serve(spark, str(base))
    rows = sum(served.rows.values())
    print(f"{asked.pages} pages before: {served.rows['outlinks']} links, {served.rows['uris']} URIs, {rows} rows of tables")
    print(f"load {loading.seconds:.0f} s ({loading.cpu:.0f} of processors), first tables {first.seconds:.0f} s ({first.cpu:.0f})\n")
    print(f"{'batch':<10} {'increment':>9} {'cpu s':>7} {'rows written':>13} {'recompute':>10} {'cpu s':>7} {'rows':>10} {'part':>6}")
    for percent in (0, *asked.percent):
        copy = folder / f"base-{percent}"
        shutil.copytree(base, copy)
        weft.spark.load(spark, str(copy), later[:percent] if percent else [page])
        with Timed() as increment:
            served = weft.spark.serve(spark, str(copy))
        written = sum(served.rows_written.values())
        line = f"{f'{percent} %' if percent else '1 page':<10} {increment.seconds:>9.1f} {increment.cpu:>7.1f} {written:>13}"
        if percent and (asked.recompute is None or percent in asked.recompute):
            with Timed() as whole:
                served = weft.spark.serve(spark, str(copy), recompute=True)
            rows = sum(served.rows.values())
            line += f" {whole.seconds:>10.1f} {whole.cpu:>7.1f} {rows:>10} {increment.cpu / whole.cpu:>6.0%}"
        print(line, flush=True)
        shutil.rmtree(copy)
    spark.stop()


if __name__ == "__main__":
    main()
