"""What tests share: test data, the program `weft`, and how dumps are written."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """Real archive files, which are not part of the repository."""
    data = pathlib.Path(os.environ.get("WEFT_SHARED_DATA") or REPOSITORY / "../shared/data").resolve()
    if not data.is_dir():
        pytest.skip(f"there is no test data at {data}")
    return data


@pytest.fixture(scope="session")
def weft_program() -> str:
    """The program, built from this repository."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or REPOSITORY / "target")
    program = os.environ.get("WEFT_PROGRAM") or str(target / "release" / "weft")
    if not os.access(program, os.X_OK):
        pytest.skip(f"{program} is not built (cargo build --release -p weft)")
    return program


@pytest.fixture(scope="session")
def run_weft(weft_program):
    """Runs the program; returns what it prints."""

    def run(*arguments, code=0, **options) -> str:
        done = subprocess.run(
            [weft_program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        assert done.returncode == code, (done.args, done.returncode, done.stderr.decode())
        return done.stdout.decode()

    return run


@pytest.fixture(scope="session")
def crawls(shared):
    """The inputs that Spark and `weft load` are compared with, as arguments of either."""
    return [str(shared / "crawls"), str(shared / "commoncrawl")]


@pytest.fixture(scope="session")
def archive(tmp_path_factory, run_weft, crawls) -> pathlib.Path:
    """An archive with these inputs."""
    folder = tmp_path_factory.mktemp("archive") / "weft-archive"
    run_weft("load", "--archive", folder, *crawls)
    return folder


@pytest.fixture(scope="session")
def dumps(tmp_path_factory, run_weft, archive) -> pathlib.Path:
    """Dumps of all views of that archive, one file each."""
    return dump_all(tmp_path_factory.mktemp("dumps"), run_weft, archive)


def dump_all(folder, run_weft, archive) -> pathlib.Path:
    """Dumps all views of an archive into a folder."""
    import weft_archive as weft

    for view, _ in weft._weft.views():
        (folder / f"{view}.tsv").write_text(run_weft("dump", view, "--archive", archive))
    return folder


needs_java = pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java, and there is none"
)


@pytest.fixture(scope="session")
def weft_sql(weft_program) -> str:
    program = shutil.which("weft-sql") or os.path.join(os.path.dirname(weft_program), "weft-sql")
    if not os.path.exists(program):
        pytest.skip("weft-sql is not built (make sql)")
    return program


@pytest.fixture(scope="session")
def expected(weft_sql, archive):
    """What the program answers on its own."""
    import asked
    import weft_archive as weft

    opened = weft.open(archive)
    os.environ["WEFT_SQL"] = weft_sql
    answers = {title: asked.rows_of(opened.sql(statement)) for title, statement in asked.questions().items()}
    assert list(answers) == asked.TITLES and all(answers.values()), answers
    return answers


@pytest.fixture(scope="session")
def spark():
    """A session in this process. Its jars are fetched once; without a network there are none, and its tests are skipped."""
    import cluster as clusters
    import weft_archive.spark

    conf = {**clusters.SETTINGS, "spark.driver.extraJavaOptions": clusters.JAVA_OPTIONS}
    try:
        session = weft_archive.spark.session("local[2]", conf=conf)
    except Exception as error:
        pytest.skip(f"Spark does not start with the jars of Delta Lake: {str(error).strip().splitlines()[-1]}")
    yield session
    session.stop()
