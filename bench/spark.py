"""The same WARC files through `weft load`, and through Spark on one and on two executors of one core.

    ~/.cache/weft/python-venv/bin/python bench/spark.py --weft target/release/weft [--pages 20000] [--files 8]

`make python` makes that environment. A master and its workers are processes of this machine. Of a job of Spark the time of one that has
nothing to do is taken off: the machine of Java starts, and tables are planned, whatever the job reads. Afterwards an archive is
indexed from the tables of the last job (`weft load --from-facts`, which needs weft-sql), and every dump compared.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python/tests"))

import cluster as clusters  # noqa: E402 (it is beside the tests)
import weft_archive as weft  # noqa: E402


def timed(command: "list[str]") -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def job(folder: pathlib.Path, name: str, master: str, *arguments: str) -> float:
    begun = time.perf_counter()
    running = clusters.job(folder / f"{name}.log", *arguments, master=master)
    try:
        running.running.wait(timeout=3600)
    finally:
        running.kill()
    if running.running.returncode != 0:
        raise SystemExit(running.said()[-3000:])
    return time.perf_counter() - begun


def dumps(program: str, archive: pathlib.Path) -> "dict[str, str]":
    views = [view for view, _ in weft._weft.views() if view not in ("ledger", "quarantine")]
    command = [program, "dump", "--archive", str(archive)]
    return {view: subprocess.run([*command, view], check=True, capture_output=True, text=True).stdout for view in views}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--weft", default=str(HERE.parent / "target/release/weft"), help="the program, with weft-sql beside it")
    arguments.add_argument("--pages", type=int, default=20_000)
    arguments.add_argument("--files", type=int, default=8)
    arguments.add_argument("--runs", type=int, default=1, help="of which the median counts")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        measure(asked, pathlib.Path(temporary))


def measure(asked: argparse.Namespace, folder: pathlib.Path) -> None:
    web = folder / "web"
    synth = ["synth", "--format", "warc", "--pages", str(asked.pages), "--files", str(asked.files), "--seed", "1"]
    web.mkdir()
    timed([asked.weft, *synth, str(web / "web.warc.gz")])
    files = sorted(map(str, web.iterdir()))
    size = sum(pathlib.Path(file).stat().st_size for file in files)
    print(f"{asked.pages} pages with HTML in {len(files)} files, {size / 2**20:.0f} MiB\n")
    print(f"{'':<28} {'seconds':>8} {'pages/s':>9} {'a core':>9}")

    def row(name: str, seconds: float, cores: int) -> None:
        rate = asked.pages / seconds
        print(f"{name:<28} {seconds:>8.1f} {rate:>9.0f} {rate / cores:>9.0f}", flush=True)

    for cores in (1, 2):
        times = []
        for run in range(asked.runs):
            archive = folder / f"archive-{cores}-{run}"
            # An archive is views and search, too: more than the tables alone.
            times.append(timed(["taskset", "-c", f"0-{cores - 1}", asked.weft, "load", "--archive", str(archive), *files]))
        row(f"weft load, {cores} core(s)", statistics.median(times), cores)
    for workers in (1, 2):
        with clusters.Cluster(folder / f"cluster-{workers}", workers) as cluster:
            times = []
            for run in range(asked.runs):
                base = folder / f"base-{workers}-{run}"
                whole = job(folder, f"job-{workers}-{run}", cluster.url, "--base", str(base), *files)
                idle = job(folder, f"idle-{workers}-{run}", cluster.url, "--base", str(base), *files)
                times.append(whole - idle)
            row(f"Spark, {workers} executor(s)", statistics.median(times), workers)
            print(f"  and {idle:.1f} s of each job whatever it reads")
    back = folder / "back"
    seconds = timed([asked.weft, "load", "--archive", str(back), "--from-facts", str(base)])
    row("weft load --from-facts", seconds, 2)
    ours, theirs = dumps(asked.weft, folder / "archive-2-0"), dumps(asked.weft, back)
    differing = [view for view in ours if ours[view] != theirs[view]]
    print(f"\n{len(ours)} dumps compared: " + (f"{', '.join(differing)} differ" if differing else "equal"))
    if differing:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
