"""A cluster of Spark on this machine: a real master and workers, each a process of its own on the loopback address."""

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

_SPARK_CLASS = pathlib.Path(pyspark.__file__).with_name("bin") / "spark-class"


def environment() -> "dict[str, str]":
    """For all processes of the cluster and for jobs."""
    java = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {JAVA_OPTIONS}"
    return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "JAVA_TOOL_OPTIONS": java}


class Process:
    """A process with a log file. It and what it starts are a group, so that all of it can be killed, as a machine is lost."""

    def __init__(self, log: pathlib.Path, command: "list[str]", more: "dict[str, str] | None" = None) -> None:
        self.log = log
        with log.open("wb") as out:
            self.running = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**environment(), **(more or {})},
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
        spark = "org.apache.spark.deploy"
        ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        self.master = self._start("master", [f"{spark}.master.Master", *ports])
        self.workers: "list[Process]" = []
        try:
            self.url = self.master.wait_for(r"Starting Spark master at (spark://\S+)")[1]
            work = [f"{spark}.worker.Worker", *ports, "--cores", "1", "--memory", "1500m", self.url]
            for number in range(workers):
                folder_of = ["--work-dir", str(folder / f"worker-{number}")]
                self.workers.append(self._start(f"worker-{number}", [*work[:-1], *folder_of, self.url]))
            for worker in self.workers:
                worker.wait_for("Successfully registered with master")
        except BaseException:
            self.close()
            raise

    def _start(self, name: str, command: "list[str]") -> Process:
        return Process(self.folder / f"{name}.log", [str(_SPARK_CLASS), *command])

    def close(self) -> None:
        for process in [*self.workers, self.master]:
            process.kill()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def job(
    log: pathlib.Path, *arguments: str, master: str = "local[2]", more: "dict[str, str] | None" = None
) -> Process:
    """Starts ``python -m weft.spark``, with more variables in its environment. What it prints and says are in one log."""
    settings = [
        "--conf=spark.driver.host=127.0.0.1",
        "--conf=spark.ui.enabled=false",
        "--conf=spark.executor.memory=1g",
        "--conf=spark.sql.shuffle.partitions=4",
        "--conf=spark.ui.showConsoleProgress=false",
        "--conf=spark.sql.codegen.wholeStage=false",
    ]
    command = [sys.executable, "-m", "weft.spark", "--master", master, *settings, *map(str, arguments)]
    return Process(log, command, more)
