"""Spark on this machine: what all its processes are given, and a cluster with a real master and workers, each a process of its
own on the loopback address.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pyspark

#: A job lasts a minute: too short for the second compiler of the JVM to pay. The first one needs more room for its code.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"

#: Settings of sessions. Rows are few here: to compile code for a query takes longer than to interpret it, and each partition
#: of a shuffle or of a table's log is a task.
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "1",
}

_SPARK_CLASS = pathlib.Path(pyspark.__file__).with_name("bin") / "spark-class"


def environment() -> "dict[str, str]":
    """For all processes of the cluster and for jobs."""
    java = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {JAVA_OPTIONS}"
    return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "JAVA_TOOL_OPTIONS": java}


class Process:
    """A process with a log file. It and what it starts are a group, so that all of it can be killed, as a machine is lost."""

    def __init__(self, log: pathlib.Path, command: "list[str]") -> None:
        self.log = log
        with log.open("wb") as out:
            self.running = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment(),
                start_new_session=True,
            )

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_for(self, pattern: str, seconds: float = 120) -> "re.Match[str]":
        """Waits until it says something."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if match := re.search(pattern, self.said()):
                return match
            assert self.running.poll() is None, self.said()[-3000:]
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} was not said within {seconds} s: {self.said()[-3000:]}")

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait()


class Cluster:
    """A master and workers of one core each."""

    def __init__(self, folder: pathlib.Path, workers: int = 2) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.master = self._start("master", "Master")
        self.workers: "list[Process]" = []
        try:
            self.url = self.master.wait_for(r"Starting Spark master at (spark://\S+)")[1]
            for _ in range(workers):
                self.add_worker()
            for worker in self.workers:
                worker.wait_for("Successfully registered with master")
        except BaseException:
            self.close()
            raise

    def add_worker(self) -> None:
        """Starts a worker. It registers some seconds later."""
        name = f"worker-{len(self.workers)}"
        limits = ["--cores", "1", "--memory", "1500m", "--work-dir", str(self.folder / name)]
        self.workers.append(self._start(name, "Worker", *limits, self.url))

    def _start(self, name: str, kind: str, *arguments: str) -> Process:
        deployed = f"org.apache.spark.deploy.{kind.lower()}.{kind}"
        ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        return Process(self.folder / f"{name}.log", [str(_SPARK_CLASS), deployed, *ports, *arguments])

    def close(self) -> None:
        for process in [*self.workers, self.master]:
            process.kill()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def job(log: pathlib.Path, *arguments: str, master: str, conf: "dict[str, str]") -> Process:
    """Starts ``python -m weft_archive.spark`` with more settings. What it prints and says are in one log."""
    conf = {**SETTINGS, "spark.executor.memory": "1g", **conf}
    settings = [f"--conf={key}={value}" for key, value in conf.items()]
    command = [sys.executable, "-m", "weft_archive.spark", "--master", master, *settings, *map(str, arguments)]
    return Process(log, command)
