"""SolrCloud on this machine: ZooKeeper and nodes, each a process of its own on the loopback address.

Solr is taken from Maven's repositories, as jars in a cache: the newest release that SolrWayback runs on.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

_HERE = pathlib.Path(__file__).parent / "solr"

VERSION = "9.10.1"

#: A node lives for minutes: too short for the second compiler of the JVM to pay.
_NODE = ["-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djetty.testMode=true", "-Dsolr.jetty.https.port=0"]
_ZOOKEEPER = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def java() -> str:
    """Returns the path of Java 17 or newer. Skips the tests if there is none."""
    home = os.environ.get("JAVA_HOME")
    program = str(pathlib.Path(home, "bin/java")) if home else shutil.which("java")
    if program is None or not os.access(program, os.X_OK):
        pytest.skip("Solr needs Java 17, and there is no Java")
    said = subprocess.run([program, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < 17:
        pytest.skip(f"Solr needs Java 17: {said.splitlines()[0] if said else program}")
    return program


def jars() -> pathlib.Path:
    """Returns the folder with the jars of Solr. Maven copies them once. Skips the tests if it cannot."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weft"
    folder = cache / f"solr-{VERSION}"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("Solr needs Maven for its jars, and there is none")
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    copy = [maven, "-q", "-B", "-f", str(_HERE / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
    done = subprocess.run(copy, capture_output=True, text=True)
    if done.returncode != 0:
        shutil.rmtree(partial, ignore_errors=True)
        pytest.skip("Maven cannot fetch the jars of Solr here")
    with contextlib.suppress(OSError):
        partial.rename(folder)
    return folder


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class _Process:
    """A process with a log file."""

    def __init__(self, log: pathlib.Path, command: "list[str]") -> None:
        self.log = log
        with log.open("wb") as out:
            self.running = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
                start_new_session=True,
            )

    def wait_for(self, holds, seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while not holds():
            said = self.log.read_text(errors="replace")[-3000:]
            assert self.running.poll() is None, said
            assert time.monotonic() < end, f"{self.log.name} is not up within {seconds} s: {said}"
            time.sleep(0.1)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait()


class Node(_Process):
    def __init__(self, cloud: "Cloud", name: str) -> None:
        self.home = cloud.folder / name
        self.home.mkdir(parents=True)
        shutil.copy(_HERE / "solr.xml", self.home)
        self.cloud, self.port = cloud, _free_port()
        self.url = f"http://127.0.0.1:{self.port}/solr"
        self.start()

    def start(self) -> None:
        """Starts it, also after a kill."""
        command = [java(), *_NODE, "-cp", f"{jars()}/*", str(_HERE / "Node.java"), str(self.home), str(self.port)]
        super().__init__(self.home / "log", [*command, self.cloud.zookeeper])

    def is_up(self) -> bool:
        return f"up http://127.0.0.1:{self.port}" in self.log.read_text(errors="replace")


class Cloud:
    """ZooKeeper and three nodes."""

    def __init__(self, folder: pathlib.Path, nodes: int = 3) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        port = _free_port()
        self.zookeeper = f"127.0.0.1:{port}"
        settings = folder / "zookeeper.cfg"
        settings.write_text(
            f"tickTime=1000\ndataDir={folder}/zookeeper\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
            "admin.enableServer=false\n"
        )
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = [java(), *_ZOOKEEPER, "-cp", f"{jars()}/*", main, str(settings)]
        self.keeper = _Process(folder / "zookeeper.log", command)
        self.nodes: "list[Node]" = []
        try:
            self.keeper.wait_for(lambda: _accepts(port))
            self.nodes += [Node(self, f"node{number}") for number in range(nodes)]
            for node in self.nodes:
                node.wait_for(node.is_up)
        except BaseException:
            self.close()
            raise

    @property
    def urls(self) -> str:
        return ",".join(node.url for node in self.nodes)

    def close(self) -> None:
        for process in [*self.nodes, self.keeper]:
            process.kill()

    def __enter__(self) -> "Cloud":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
