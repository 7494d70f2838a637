"""Spark behind the S3 gateway of `weft serve`, by Hadoop's own client: only its endpoint is another."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import needs_java

pytest.importorskip("pyspark")
pytest.importorskip("delta")
pytestmark = needs_java


@contextlib.contextmanager
def serving(weft_program, *arguments, **environment):
    """A server of the program, and what it says first."""
    command = [weft_program, *map(str, arguments), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **environment}) as running:
        try:
            yield json.loads(running.stdout.readline())
        finally:
            running.terminate()


def test_spark_reads_a_table_again_without_asking_for_its_data(weft_program, run_weft, tmp_path):
    folder = tmp_path
    log = folder / "access.log"
    volumes = [word for name in "ab" for word in ("--volume", folder / name)]
    s3 = ["--s3", "127.0.0.1:0", "--s3-keys", folder / "keys.toml", "--s3-log", log, "--s3-log-format", "json"]
    # What is put into a bucket makes it.
    (folder / "note").write_text("a note")
    for bucket in "lake", "far":
        run_weft("store", "put", folder / "note", f"store://{bucket}/", *volumes)
    with serving(weft_program, "store", "serve", *volumes, *s3) as store:
        key = store["s3"]["new_key"]
        upstream = {
            "AWS_ENDPOINT_URL": store["s3"]["url"],
            "AWS_ACCESS_KEY_ID": key["id"],
            "AWS_SECRET_ACCESS_KEY": key["secret"],
        }
        gateway = [
            "serve", "--archive", folder / "archive", "--create", "--listen", "127.0.0.1:0", "--s3", "127.0.0.1:0",
            "--upstream", "s3://", "--map", "lake/sales=s3://far/warehouse", "--cache", folder / "cache",
        ]
        with serving(weft_program, *gateway, **upstream) as said:
            endpoint, key = said["s3"]["url"], said["s3"]["new_key"]
            script = pathlib.Path(__file__).with_name("s3a.py")
            done = subprocess.run(
                [sys.executable, script, endpoint, key["id"], key["secret"], log],
                capture_output=True, text=True, timeout=600,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
            )
    if "unresolved dependency" in done.stdout + done.stderr or "FAILED DOWNLOADS" in done.stdout + done.stderr:
        pytest.skip("Spark has no jars of s3a: they cannot be fetched here")
    assert done.returncode == 0, done.stderr[-5000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["found"] == [told["expected"]] * 2, told
    first, second = told["asked"]
    assert 0 < first == second, told
