"""From the wheel to a package (WACZ) that is searched and replayed: a fresh environment, without network, in under a minute."""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request
import zipfile

import pytest

from conftest import REPOSITORY

#: Time limit for everything, from an empty folder to the replayed page.
SECONDS_MAX = 60

PAGE = "<html><head><title>The river</title></head><body><p>The river drives the mill.</p></body></html>"


@pytest.fixture(scope="module")
def wheel() -> pathlib.Path:
    """The newest wheel of `make wheel` and `make python`."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
    found = [wheel for folder in ("wheels", "python") for wheel in (target / folder).glob("weft_archive-*.whl")]
    if not found:
        pytest.skip(f"there is no wheel in {target}/wheels or {target}/python (make wheel, make python)")
    newest = max(found, key=lambda wheel: wheel.stat().st_mtime)
    if not any(name.endswith(".data/scripts/weft") for name in zipfile.ZipFile(newest).namelist()):
        pytest.skip(f"{newest.name} has no program: it was not built before make python")
    return newest


@pytest.fixture(scope="module")
def package(tmp_path_factory, run_weft) -> pathlib.Path:
    """A package with one page."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "notes").mkdir()
    (folder / "notes/river.html").write_text(PAGE)
    run_weft("pack", folder / "notes", "--url-prefix", "https://notes.example/", folder / "notes.warc.gz")
    run_weft("load", "--archive", folder / "archive", folder / "notes.warc.gz")
    run_weft("export", "--archive", folder / "archive", "--wacz", folder / "notes.wacz")
    return folder / "notes.wacz"


def test_the_configset_of_solr_is_in_it(wheel):
    folder = "weft_archive/solr/configset"
    assert {f"{folder}/schema.xml", f"{folder}/solrconfig.xml"} <= set(zipfile.ZipFile(wheel).namelist())


def install(wheel: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Installs the wheel into a new environment; returns the folder of its commands."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin/pip", "--disable-pip-version-check", "--quiet", "install", "--no-index", "--no-deps", wheel]
    subprocess.run(pip, check=True)
    return folder / "bin"


def test_a_package_is_searched_and_replayed_within_a_minute_of_the_wheel(wheel, package, tmp_path):
    begun = time.monotonic()
    commands = install(wheel, tmp_path / "environment")
    # Programs of others must not help.
    run = {"cwd": tmp_path, "env": {"HOME": str(tmp_path), "PATH": f"{commands}:/usr/bin:/bin"}}

    def weft(*arguments) -> str:
        command = [commands / "weft", *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **run).stdout

    weft("load", package)
    hits = json.loads(weft("search", "river mill", "--json"))["hits"]
    assert [hit["url"] for hit in hits] == ["https://notes.example/river.html"]
    serve = [commands / "weft", "serve", "--listen", "127.0.0.1:0", "--json"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, **run) as server:
        try:
            replay = json.loads(server.stdout.readline())["replay"]
            with urllib.request.urlopen(f"{replay}replay/https://notes.example/river.html") as answer:
                assert b"The river drives the mill." in answer.read()
        finally:
            server.terminate()
    seconds = time.monotonic() - begun
    assert seconds < SECONDS_MAX, f"{seconds:.0f} s"
    # What uvx runs, also through a link as tools make them.
    (tmp_path / "linked").symlink_to(commands / "weft-archive")
    said = [subprocess.run([program, "--version"], check=True, capture_output=True, **run).stdout
            for program in (commands / "weft", commands / "weft-archive", tmp_path / "linked")]
    assert said[0].startswith(b"weft ") and said == said[:1] * 3, said
