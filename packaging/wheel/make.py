#!/usr/bin/env python3
"""Makes the wheels that pip installs.

    packaging/wheel/make.py OUTPUT_DIR --extension WHEEL [--program WEFT] [--sql WEFT_SQL] [--glibc 2.28] [--level 0..9]

`weft_archive-VERSION-...whl` is the wheel that maturin built, with the program `weft` and the command `weft-archive`, which
runs it. `weft_archive_sql-VERSION-...whl` has the program `weft-sql`. Programs lose their symbols. The tag of a wheel names
the oldest C library that its files run with. With --glibc it names that version, and files that need a newer one are an error.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent

# Libraries that every Linux with glibc has (PEP 600). A file that needs another one gets no manylinux tag.
LIBRARIES = re.compile(r"(libc|libm|libdl|librt|libpthread|libutil|libresolv|libgcc_s|ld-linux-[\w-]+)\.so\.\d+")

# `uvx weft-archive` runs the command that has the name of the distribution.
COMMAND = b"""#!/bin/sh
# The program weft under the name of the distribution.
exec "$(dirname "$(readlink -f "$0")")/weft" "$@"
"""


class Wheel:
    """The files of a wheel by name. Its tag follows from its programs and libraries."""

    def __init__(self, distribution: str, version: str, python: str) -> None:
        self.stem = f"{distribution}-{version}"
        # Version of Python and ABI, such as cp310-abi3.
        self.python = python
        self.files: "dict[str, bytes]" = {}
        self.add_info("licenses/LICENSE", (HERE / "../../LICENSE").read_bytes())

    def add_info(self, name: str, data: bytes) -> None:
        self.files[f"{self.stem}.dist-info/{name}"] = data

    def add_script(self, name: str, data: bytes) -> None:
        self.files[f"{self.stem}.data/scripts/{name}"] = data

    def write(self, folder: pathlib.Path, glibc: "tuple[int, int]", level: int) -> pathlib.Path:
        tag = f"{self.python}-{platform_tag(self.files, glibc)}"
        self.add_info("WHEEL", f"Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        self.add_info("RECORD", self.record().encode())
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.stem}-{tag}.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
            # The last files are those of dist-info, as the specification recommends.
            for name in sorted(self.files, key=lambda name: (".dist-info/" in name, name)):
                # The date is the same in every build.
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                mode = 0o755 if ".data/scripts/" in name or name.endswith(".so") else 0o644
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, self.files[name], compresslevel=level)
        return path

    def record(self) -> str:
        own = f"{self.stem}.dist-info/RECORD"
        rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data in sorted(self.files.items()) if name != own]
        return "\n".join([*rows, f"{own},,", ""])


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def platform_tag(files: "dict[str, bytes]", glibc: "tuple[int, int]") -> str:
    """Returns the tag for the oldest system that these files run on, or for `glibc`, if given."""
    needs = {name: needed(data) for name, data in files.items() if data.startswith(b"\x7fELF")}
    for name, (libraries, version) in needs.items():
        others = sorted(library for library in libraries if not LIBRARIES.fullmatch(library))
        if others:
            print(f"{name} needs {', '.join(others)}: the wheel is for this system only", file=sys.stderr)
            return f"linux_{platform.machine()}"
        if glibc and version > glibc:
            raise SystemExit(f"{name} needs glibc {version[0]}.{version[1]}, not {glibc[0]}.{glibc[1]}")
    major, minor = glibc or max([(2, 17), *(version for _, version in needs.values())])
    return f"manylinux_{major}_{minor}_{platform.machine()}"


def needed(elf: bytes) -> "tuple[set[str], tuple[int, int]]":
    """Returns the libraries that an ELF file needs, and the version of glibc."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(elf)
        file.flush()
        command = ["readelf", "--wide", "--dynamic", "--version-info", file.name]
        listed = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    versions = re.findall(r"Name: GLIBC_([\d.]+)", listed)
    # DT_RELR is the one feature whose name has no number.
    versions += ["2.36"] if "GLIBC_ABI_DT_RELR" in listed else []
    numbers = [tuple(map(int, version.split(".")[:2])) for version in versions]
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", listed)), max(numbers, default=(0, 0))


def stripped(program: pathlib.Path) -> bytes:
    """Returns a program without symbols."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "program"
        subprocess.run(["strip", "-o", copy, program], check=True)
        return copy.read_bytes()


def with_program(extension: pathlib.Path, program: "pathlib.Path | None") -> "tuple[Wheel, str]":
    """Returns maturin's wheel with the program, and its version."""
    distribution, version, python, abi, _ = extension.name.split("-")
    wheel = Wheel(distribution, version, f"{python}-{abi}")
    with zipfile.ZipFile(extension) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                wheel.files[entry.filename] = archive.read(entry)
    metadata = f"{wheel.stem}.dist-info/METADATA"
    wheel.files[metadata] = wheel.files[metadata].replace(b"\nName:", b"\nLicense-File: LICENSE\nName:", 1)
    if program:
        wheel.add_script("weft", stripped(program))
        wheel.add_script("weft-archive", COMMAND)
    return wheel, version


def of_sql(program: pathlib.Path, version: str) -> Wheel:
    """Returns the wheel of weft-sql."""
    wheel = Wheel("weft_archive_sql", version, "py3-none")
    metadata = (HERE / "sql-metadata").read_text().replace("@VERSION@", version)
    wheel.add_info("METADATA", metadata.encode())
    wheel.add_script("weft-sql", stripped(program))
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--extension", type=pathlib.Path, required=True, help="the wheel that maturin built")
    parser.add_argument("--program", type=pathlib.Path, help="the program weft")
    parser.add_argument("--sql", type=pathlib.Path, help="the program weft-sql")
    parser.add_argument("--glibc", type=lambda text: tuple(map(int, text.split("."))), default=(), help="version for the tag")
    parser.add_argument("--level", type=int, default=9, help="of compression")
    given = parser.parse_args()
    if not given.extension.is_file():
        raise SystemExit("there is no wheel of the extension: make wheel builds it")
    wheel, version = with_program(given.extension, given.program)
    wheels = [wheel, of_sql(given.sql, version)] if given.sql else [wheel]
    for each in wheels:
        path = each.write(given.output, given.glibc, given.level)
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
