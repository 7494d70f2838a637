"""Loads with Spark: the same rows as `weft load`, exactly once, whatever is killed."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pyarrow
import pyarrow.fs as fs
import pytest

import dumped
import odd_crawls
import weft_archive as weft
from asked import assert_same, rows_of
from conftest import REPOSITORY, dump_all, needs_java

pyspark = pytest.importorskip("pyspark")
pytest.importorskip("delta")
deltalake = pytest.importorskip("deltalake")
duckdb = pytest.importorskip("duckdb")
pytestmark = needs_java

import cluster as clusters  # noqa: E402 (it needs pyspark)
import weft_archive.spark  # noqa: E402
import weft_archive.spark.__main__  # noqa: E402


def table(base, *names):
    """A table as the package deltalake reads it: its rows by columns."""
    return deltalake.DeltaTable(str(pathlib.Path(base, *names))).to_pyarrow_table()


def versions(base):
    """The newest version of each table of rows."""
    return {name: deltalake.DeltaTable(f"{base}/{name}").version() for name in ("captures", "links", "quarantine")}


def check_facts(base, dumps):
    """Each view by DuckDB over the tables is its dump, byte for byte. The script is that of the facts of archives."""
    script = REPOSITORY / "crates/weft/tests/cli/facts.py"
    command = [sys.executable, script, base, REPOSITORY / "views", dumps]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


def check_views(base, dumps):
    """Each view by Spark is its dump, byte for byte."""
    for view, order in dumped.ORDER.items():
        rows = table(base, "views", view)
        found = dumped.lines(duckdb.sql(f"SELECT * FROM rows ORDER BY {order}").to_arrow_table())
        assert found == dumped.dump(dumps, view), view


def check_ledger(base, archive, run_weft):
    """The ledger says the same as that of the load, of each input whose content counts."""
    rows = [row for row in table(base, "ledger").to_pylist() if row["state"] != "known"]
    names = ("input", "digest", "size", "state", "records", "captures", "quarantined")
    found = sorted("\t".join(str(row[name]) for name in names) for row in rows)
    dump = run_weft("dump", "ledger", "--archive", archive).splitlines()
    assert found == sorted(line.rsplit("\t", 1)[0] for line in dump)


def printed(text: str) -> dict:
    """Returns what a job printed with ``--json``. Spark mixes it with what the job says."""
    return json.loads(re.findall(r"^\{.*\}$", text, re.MULTILINE)[-1])


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, spark, crawls):
    """A base with the crawls, loaded in batches of five, and their views, which were computed before as well."""
    base = str(tmp_path_factory.mktemp("spark") / "base")
    batches = []
    for part in reversed(crawls):
        summary = weft.spark.load(spark, base, [part], batch_inputs=5)
        weft.spark.compute_views(spark, base)
        assert summary.failed == 0 and len(summary.batches) == -(-summary.inputs // 5), summary
        batches += summary.batches
    assert batches == list(range(1, len(batches) + 1)) and len(batches) > 2, batches
    return pathlib.Path(base)


def test_increments_are_what_a_load_writes(loaded, archive, dumps, run_weft):
    check_facts(loaded, dumps)
    check_views(loaded, dumps)
    check_ledger(loaded, archive, run_weft)
    assert not list((loaded / "staging").iterdir())


def test_odd_crawls_have_the_views_of_an_archive(tmp_path, spark, run_weft):
    """Posts, parts, revisits of other URLs and the like (docs/views.md), but documents, which Spark does not read."""
    seed = int(os.environ.get("WEFT_TEST_SEED") or random.randrange(2**32))
    print(f"WEFT_TEST_SEED={seed}")
    odd_crawls.write(tmp_path / "odd", seed, documents=False)
    base, archive = tmp_path / "base", tmp_path / "archive"
    weft.spark.load(spark, str(base), [str(tmp_path / "odd")])
    weft.spark.compute_views(spark, str(base))
    run_weft("load", "--archive", archive, tmp_path / "odd")
    (tmp_path / "dumps").mkdir()
    dumps = dump_all(tmp_path / "dumps", run_weft, archive)
    assert len((dumps / "pages.tsv").read_text()) > 0
    check_facts(base, dumps)
    check_views(base, dumps)


def check_dumps(archive, dumps, run_weft):
    """An archive has the views of another one."""
    folder = archive.with_name(archive.name + "-dumps")
    folder.mkdir()
    dump_all(folder, run_weft, archive)
    for dump in dumps.iterdir():
        assert (folder / dump.name).read_text() == dump.read_text(), dump.name


def test_the_way_back(loaded, dumps, tmp_path, run_weft, weft_sql):
    """An archive loaded from the tables has the views of one that was loaded from the files."""
    back, killed = tmp_path / "back", tmp_path / "killed"
    said = json.loads(run_weft("load", "--archive", back, "--from-facts", loaded, "--json"))
    assert said["inputs_failed"] == 0 and said["captures"] > 0, said
    check_dumps(back, dumps, run_weft)
    again = json.loads(run_weft("load", "--archive", back, "--from-facts", loaded, "--json"))
    assert (again["captures"], again["inputs_known"]) == (0, said["inputs_done"]), again
    # A load that was killed after an epoch that search does not have yet continues there.
    environment = {**os.environ, "WEFT_CRASH_POINT": "from_facts.after_epoch:1"}
    run_weft("load", "--archive", killed, "--from-facts", loaded, code=-signal.SIGABRT, env=environment)
    run_weft("load", "--archive", killed, "--from-facts", loaded)
    check_dumps(killed, dumps, run_weft)
    status = json.loads(run_weft("status", "--archive", killed, "--json"))
    assert status["search_documents"] == status["pages"] > 0, status


def test_columns_are_those_of_the_facts_of_an_archive(loaded, archive):
    for name in ("captures", "links"):
        ours = deltalake.DeltaTable(str(loaded / name)).schema()
        kept = getattr(weft.open(archive).facts(), name).delta().schema()
        assert ours == kept, name
        rows = table(loaded, name)
        ledger = [row for row in table(loaded, "ledger").to_pylist() if row["state"] == "done"]
        batches = {row["batch"] for row in ledger if row[name] > 0}
        assert set(rows["epoch"].to_pylist()) == batches and min(rows["input_id"].to_pylist()) > 0


def test_again_and_under_other_names_nothing_is_added(loaded, crawls, tmp_path, spark):
    before = versions(loaded)
    again = weft.spark.load(spark, str(loaded), crawls)
    assert (again.known, again.done, again.batches) == (17, 0, [])
    copies = tmp_path / "copies"
    shutil.copytree(crawls[0], copies)
    copied = weft.spark.load(spark, str(loaded), [str(copies)])
    assert (copied.known, copied.done, copied.batches) == (8, 0, [5])
    assert versions(loaded) == before


def test_a_worker_that_is_killed_in_mid_job_changes_nothing(tmp_path, spark, crawls, run_weft, weft_sql):
    """One job on a cluster of two workers. One of them is lost while it reads, and another one takes its place."""
    # Two inputs that take seconds come first: both workers are in the middle of one when one of them is killed.
    large = [str(tmp_path / f"web-{seed}.warc.gz") for seed in (1, 2)]
    for seed, path in enumerate(large, 1):
        run_weft("synth", "--pages", "3000", "--seed", str(seed), path)
    inputs = [*large, *crawls]
    archive, base = tmp_path / "archive", tmp_path / "base"
    run_weft("load", "--archive", archive, "--links", "external", *inputs)
    (tmp_path / "events").mkdir()
    events = {"enabled": "true", "dir": f"file://{tmp_path}/events", "compress": "false", "rolling.enabled": "false"}
    conf = {
        **{f"spark.eventLog.{key}": value for key, value in events.items()},
        # No task begins before both workers are there.
        "spark.cores.max": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    }
    with clusters.Cluster(tmp_path / "cluster") as cluster:
        options = ["--json", "--base", base, "--links", "external", "--views"]
        job = clusters.job(tmp_path / "job.log", *options, *inputs, master=cluster.url, conf=conf)
        try:
            # A task has a file as soon as it has rows.
            until(lambda: all(list(base.glob(f"staging/1/part-0000{task}-*.parquet")) for task in (0, 1)))
            cluster.workers[1].kill()
            assert not (base / "staging/1/_delta_log/00000000000000000000.json").exists(), "it was killed too late"
            cluster.add_worker()
            job.running.wait(timeout=600)
        finally:
            job.kill()
        assert job.running.returncode == 0, job.said()[-5000:]
    done = printed(job.said())
    assert (done["inputs"], done["done"], done["failed"], done["batches"]) == (19, 19, 0, [1])
    # A task that read an input was lost with its worker and repeated. The views were computed by both that were left.
    noted = [json.loads(line) for file in (tmp_path / "events").iterdir() for line in file.read_text().splitlines()]
    assert "MapInArrow" in lost_stage(noted)
    assert len(last_executors(noted)) == 2
    (tmp_path / "dumps").mkdir()
    dumps = dump_all(tmp_path / "dumps", run_weft, archive)
    check_facts(base, dumps)
    check_views(base, dumps)
    check_ledger(base, archive, run_weft)
    run_weft("load", "--archive", tmp_path / "back", "--from-facts", base)
    check_dumps(tmp_path / "back", dumps, run_weft)


def lost_stage(noted: "list[dict]") -> str:
    """What Spark has noted of the stage that lost a task with its executor."""
    ended = [event for event in noted if event["Event"] == "SparkListenerTaskEnd"]
    lost = {event["Stage ID"] for event in ended if event["Task End Reason"]["Reason"] == "ExecutorLostFailure"}
    assert lost, "no task was lost"
    stages = [event["Stage Info"] for event in noted if event["Event"] == "SparkListenerStageSubmitted"]
    return json.dumps([stage for stage in stages if stage["Stage ID"] in lost])


def last_executors(noted: "list[dict]") -> "set[str]":
    """The executors of the last hundred tasks."""
    ended = [event for event in noted if event["Event"] == "SparkListenerTaskEnd"]
    return {event["Task Info"]["Executor ID"] for event in ended[-100:]}


def until(holds, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


class Stopped(Exception):
    """Stands for the end of the driver."""


STEPS = ["reading", "appending", "appended captures", "appended links", "appended quarantine", "appended ledger"]


def test_a_job_that_ends_at_any_step_is_finished_by_the_next(tmp_path, spark, shared, run_weft):
    # Names that end in `.open` are for loads that go on later, which there are none of here.
    edge = sorted(str(path) for path in (shared / "edge").iterdir() if "warc" in path.name and path.suffix != ".open")
    inputs = [str(shared / "crawls/hackfest.warc.gz"), *edge]
    run_weft("load", "--archive", tmp_path / "a", *inputs, code=1)
    expected = {
        name: run_weft("dump", name, "--archive", tmp_path / "a").splitlines()
        for name in ("captures", "links", "quarantine")
    }
    base = tmp_path / "base"
    for step in STEPS:

        def say(text: str) -> None:
            if text.endswith(step):
                raise Stopped

        with pytest.raises(Stopped):
            weft.spark.load(spark, str(base), inputs, say=say)
    summary = weft.spark.load(spark, str(base), inputs)
    # The last of these jobs had written all; only what failed is tried again.
    assert summary.done == 0 and summary.known + summary.failed == summary.inputs
    captures = table(base, "captures").select(["warc_filename", "warc_record_offset"]).to_pylist()
    found = sorted((row["warc_filename"], row["warc_record_offset"]) for row in captures)
    columns = [line.split("\t") for line in expected["captures"]]
    assert found == sorted((row[8], int(row[7])) for row in columns)
    quarantined = table(base, "quarantine").to_pylist()
    assert expected["quarantine"]
    assert sorted((row["input"], str(row["offset"]), row["reason"], row["detail"]) for row in quarantined) == sorted(
        tuple(line.split("\t")) for line in expected["quarantine"]
    )
    rows = table(base, "links")
    keys = list(zip(*(rows[name].to_pylist() for name in ("input_id", "warc_record_offset", "target_surtkey"))))
    assert len(keys) == len(set(keys)) > 0
    assert not (base / "staging/1").exists()


def test_a_job_that_finds_another_in_its_place_ends(tmp_path, spark, shared, monkeypatch):
    base = str(tmp_path / "base")
    mine, others = str(shared / "crawls/dupes.warc.gz"), str(shared / "crawls/hackfest.warc.gz")
    find = weft.spark._load.find

    def find_late(*arguments):
        # The other job begins between this one's look at the table and its own batch.
        monkeypatch.setattr(weft.spark._load, "find", find)
        with pytest.raises(Stopped):
            weft.spark.load(spark, base, [others], say=stop)
        return find(*arguments)

    def stop(text: str) -> None:
        raise Stopped

    monkeypatch.setattr(weft.spark._load, "find", find_late)
    with pytest.raises(RuntimeError, match="one job at a time"):
        weft.spark.load(spark, base, [mine])
    summary = weft.spark.load(spark, base, [mine])
    assert (summary.done, summary.batches) == (2, [1, 2])
    names = [pathlib.Path(row["input"]).name for row in table(base, "ledger").to_pylist()]
    assert sorted(names) == ["dupes.warc.gz", "hackfest.warc.gz"]


def test_inputs_that_fail_are_rows_of_the_ledger(tmp_path, spark, shared):
    for name in ("dupes.warc.gz", "copy.warc.gz", "growing.warc.gz.open"):
        shutil.copy(shared / "crawls/dupes.warc.gz", tmp_path / name)
    (tmp_path / "empty.warc.gz").write_bytes(b"")
    (tmp_path / "junk.warc").write_bytes(b"no record at all\n" * 100)
    names = ["dupes.warc.gz", "copy.warc.gz", "empty.warc.gz", "junk.warc", "growing.warc.gz.open", "missing.warc.gz"]
    inputs = [*(str(tmp_path / name) for name in names), "nowhere://host/x.warc.gz"]
    summary = weft.spark.load(spark, str(tmp_path / "base"), inputs)
    assert (summary.inputs, summary.done, summary.known, summary.failed) == (7, 1, 1, 5)
    ledger = {pathlib.Path(row["input"]).name: row for row in table(tmp_path / "base", "ledger").to_pylist()}
    # Of two names of one content the least counts, whichever was given first.
    assert (ledger["copy.warc.gz"]["state"], ledger["dupes.warc.gz"]["state"]) == ("done", "known")
    for name, why in {
        "empty.warc.gz": "no WARC or ARC record",
        "junk.warc": "no WARC or ARC record",
        "growing.warc.gz.open": "still written to",
        "missing.warc.gz": "no such file",
        "x.warc.gz": "nowhere",
    }.items():
        assert ledger[name]["state"] == "failed" and why in ledger[name]["failure"], ledger[name]
    assert table(tmp_path / "base", "captures").num_rows == 12
    # What could not be read is tried again; what was read and is of no use is not.
    shutil.copy(shared / "crawls/hackfest.warc.gz", tmp_path / "missing.warc.gz")
    again = weft.spark.load(spark, str(tmp_path / "base"), inputs)
    assert (again.inputs, again.done, again.known, again.failed) == (7, 1, 4, 2)


def test_entries_of_lists_are_below_a_prefix(tmp_path, spark, shared):
    (tmp_path / "warc.paths").write_text("crawls/dupes.warc.gz\ncrawls/hackfest.warc.gz\n\n")
    for states in ((2, 0), (0, 2)):
        summary = weft.spark.load(
            spark, str(tmp_path / "base"), [str(tmp_path / "warc.paths")], prefix=f"{shared}/"
        )
        assert (summary.done, summary.known) == states
    # Hadoop's name of a file, and an address that pyarrow opens.
    for address, states in ((f"file://{shared}/crawls/dupes.warc.gz", (0, 1)),):
        summary = weft.spark.load(spark, str(tmp_path / "base"), [address])
        assert (summary.done, summary.known) == states


def run_job(log, *arguments, conf, code=0) -> dict:
    """Runs a job in a process of its own, to its end."""
    job = clusters.job(log, "--json", *arguments, master="local[2]", conf=conf)
    try:
        job.running.wait(timeout=600)
    finally:
        job.kill()
    assert job.running.returncode == code, job.said()[-5000:]
    return printed(job.said())


def test_objects_of_s3_are_read_by_the_workers(tmp_path, spark, shared, run_weft, weft_program, weft_sql, monkeypatch):
    """From our own store: as `s3a://`, a folder first, then entries of a list. And tables, into an archive."""
    volume, keys = tmp_path / "volume", tmp_path / "keys.toml"
    names = ["dupes.warc.gz", "hackfest.warc.gz"]
    run_weft("store", "put", *(shared / "crawls" / name for name in names), "store://crawls/2014/", "--volume", volume)
    command = [weft_program, "store", "serve", "--volume", volume, "--s3", "127.0.0.1:0", "--s3-keys", keys]
    served = clusters.Process(tmp_path / "store.log", list(map(str, command)))
    try:
        endpoint = served.wait_for(r"S3 at (http://\S+)")[1]
        [(key, secret)] = re.findall(r'\[keys\.(\w+)\]\nsecret = "(.*)"', keys.read_text())
        more = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_REGION": "us-east-1",
        }
        for name, value in more.items():
            monkeypatch.setenv(name, value)
        # In processes of their own, because a process reads these variables once.
        conf = {f"spark.executorEnv.{name}": value for name, value in more.items()}
        base = tmp_path / "base"
        folder = run_job(tmp_path / "1.log", "--base", base, "s3a://crawls/2014/", conf=conf)
        assert (folder["inputs"], folder["done"]) == (2, 2)
        (tmp_path / "warc.paths").write_text("".join(f"2014/{name}\n" for name in [*names, "missing.warc.gz"]))
        listed = ["--base", base, "--prefix", "s3a://crawls/", tmp_path / "warc.paths"]
        again = run_job(tmp_path / "2.log", *listed, conf=conf, code=1)
        assert (again["known"], again["failed"]) == (2, 1)
        lake = fs.S3FileSystem(access_key=key, secret_key=secret, endpoint_override=endpoint, region="us-east-1")
        fs.copy_files(str(base), "crawls/base", destination_filesystem=lake)
        back = ["load", "--archive", tmp_path / "back", "--from-facts", "s3://crawls/base"]
        # One input of the ledger failed.
        run_weft(*back, code=1)
    finally:
        served.kill()
    run_weft("load", "--archive", tmp_path / "a", *(shared / "crawls" / name for name in names))
    expected = [line.split("\t")[:8] for line in run_weft("dump", "captures", "--archive", tmp_path / "a").splitlines()]
    rows = table(base, "captures")
    columns = ["url_surtkey", "fetch_time", "url", "content_mime_type", "fetch_status", "content_digest"]
    columns += ["warc_record_length", "warc_record_offset"]
    found = [line.split("\t") for line in dumped.lines(rows.select(columns))]
    assert sorted(found) == sorted(expected)
    assert set(rows["warc_filename"].to_pylist()) == {f"s3://crawls/2014/{name}" for name in names}
    of_back = run_weft("dump", "captures", "--archive", tmp_path / "back").splitlines()
    assert sorted(line.split("\t")[:8] for line in of_back) == sorted(expected)


def test_spark_reads_the_facts_of_an_archive(spark, archive):
    for name in ("captures", "links"):
        kept = getattr(weft.open(archive).facts(), name)
        rows = spark.read.format("delta").load(str(kept))
        assert rows.count() == kept.to_arrow().num_rows > 0
        assert rows.schema.names == kept.to_arrow().schema.names


def test_a_worker_gets_few_rows_with_long_texts_at_once(spark):
    def counted(batches):
        for batch in batches:
            yield pyarrow.RecordBatch.from_pydict({"rows": [batch.num_rows]})

    long = weft.spark._session.ours(spark).range(0, 24, 1, 1).selectExpr("repeat('x', 4000000) AS text")
    rows = [row.rows for row in long.mapInArrow(counted, "rows BIGINT").collect()]
    assert sum(rows) == 24 and max(rows) < 12, rows


def test_it_runs_under_spark_submit(tmp_path, shared):
    """As docs/scale.md says: the master and the jars are given there. The base is relative."""
    (tmp_path / "job.py").write_text("import sys; from weft_archive.spark.__main__ import main; sys.exit(main())")
    submit = pathlib.Path(pyspark.__file__).with_name("bin") / "spark-submit"
    jars = ["--packages", "io.delta:delta-spark_4.1_2.13:4.1.0", "--conf", "spark.ui.enabled=false"]
    asked = ["--base", "base", "--json", "--serving", shared / "crawls/dupes.warc.gz", "missing.warc.gz"]
    command = [submit, "--master", "local[1]", *jars, "job.py", *asked]
    done = subprocess.run(
        list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, env=clusters.environment()
    )
    # One of the inputs failed.
    assert done.returncode == 1, done.stderr[-3000:]
    said = printed(done.stdout)
    assert (said["done"], said["failed"]) == (1, 1), said
    assert table(tmp_path / "base", "captures").num_rows == 12
    assert (said["serving"]["batch"], said["serving"]["rows"]["captures"]) == (1, 12)


def test_wrong_use_is_said(tmp_path, spark, shared, loaded, capsys):
    inputs, base = [str(shared / "crawls/dupes.warc.gz")], str(loaded)
    with pytest.raises(weft.spark.WrongUse, match="keeps all links"):
        weft.spark.load(spark, base, inputs, links="external")
    with pytest.raises(weft.spark.WrongUse, match="no view"):
        weft.spark.compute_views(spark, base, ["nothing"])
    with pytest.raises(weft.spark.WrongUse, match="no tables"):
        weft.spark.compute_views(spark, str(tmp_path / "other"))
    for arguments, code in (["--base", base], 2), (["--help"], 0):
        with pytest.raises(SystemExit) as ended:
            weft.spark.__main__.main(arguments)
        assert ended.value.code == code
    assert "exit codes" in capsys.readouterr().out


def test_questions_have_the_answers_of_every_engine(spark, archive, expected):
    own = weft.spark._session.ours(spark)
    for name in ("captures", "links"):
        own.read.format("delta").load(str(archive / "facts" / name)).createOrReplaceTempView(name)
    assert_same(expected, lambda statement: rows_of(own.sql(statement).toArrow()))
