"""Builds the compiler, which is Go, into the package: a shared library, and an executable that is linked to it."""

import gzip
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

if sys.platform != "linux":
    raise SystemExit(f"libsparse builds and runs on Linux only, not on {sys.platform}; on Windows, use WSL.")

ROOT = Path(__file__).resolve().parent
LIBRARY = Extension("libsparse._libsparse", sources=[])
PROGRAM = Extension("libsparse._libsparse_go", sources=[])
LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
SORTING = ("rows", "by_rows", "compress", "boxes", "joined", "fibers", "located", "masks", "gather", "runs", "merged")
CHOOSING = ("leading", "nonzeros", "columns", "extrema")
CALLING = (
    *("multiply", "repeat", "describe", "kinds", "wrap", "compressed", "seen", "tally", "held"),
    *("finder", "binding", "taken"),
)
SHORTCUTS = [
    Extension(
        f"libsparse.{room}._{name}",
        sources=[f"python/libsparse/{room}/{source}.c" for source in (name, *others)],
        depends=["python/libsparse/_storage/threads.h", *([f"python/libsparse/{room}/{name}.h"] if others else [])],
        extra_compile_args=["-O3", "-std=c11", "-Wall", "-Wextra", "-pthread", "-fvisibility=hidden"],
        extra_link_args=["-pthread"],
        py_limited_api=True,
        optional=True,  # without a C compiler or Python's headers, its steps run in Python
    )
    for room, name, *others in (
        ("_runtime", "direct", *CALLING),
        ("_runtime", "stand_in"),
        ("_runtime", "transposed"),
        ("_storage", "radix", *SORTING, *CHOOSING),
        ("_storage", "fingerprint"),
        ("_io", "market"),
        ("sampling", "sample"),
    )
]


class BuildGo(build_ext):
    """Runs `go build`, and a C compiler for the shortcuts; the results don't depend on the Python that builds them."""

    def run(self) -> None:
        """Build, and write down what the compiler says of formats, which the package reads."""
        super().run()
        program = Path(self.get_ext_fullpath(PROGRAM.name)).resolve()
        described = program.parent / "_storage" / "formats.json"
        described.parent.mkdir(exist_ok=True)
        described.write_bytes(subprocess.run([program, "formats"], check=True, stdout=subprocess.PIPE).stdout)
        library = Path(self.get_ext_fullpath(LIBRARY.name)).resolve().read_bytes()
        build = hashlib.sha256(library).hexdigest()
        (program.parent / "_compiler").mkdir(exist_ok=True)
        (program.parent / "_compiler" / "build.txt").write_text(f"{len(library)} {build}")
        # A wheel is built once and installed often. In a clone there is a C compiler, and `make pack` makes the pack.
        if platform.machine() == "x86_64" and (not self.inplace or "LIBSPARSE_PACK" in os.environ):
            with gzip.open(ROOT / "pack" / "requests.jsonl.gz") as requests:
                command = [program, "pack", program.parent / "_pack", build, *LEVELS]
                subprocess.run(command, input=requests.read(), check=True)
            (program.parent / "_pack" / "build.txt").write_text(build)

    def get_ext_filename(self, fullname: str) -> str:
        """Drop the suffix that names a Python version; `fullname` comes with and without its package."""
        name = fullname.rpartition(".")[2]
        shortcuts = {extension.name.rpartition(".")[2] for extension in SHORTCUTS}
        suffix = ".so" if name == "_libsparse" else ".abi3.so" if name in shortcuts else ""
        return str(Path(*fullname.split("."))) + suffix

    def build_extension(self, ext: Extension) -> None:
        """Build the shared library with cgo, which takes a C compiler, and the executable with that C compiler."""
        if ext in SHORTCUTS:
            super().build_extension(ext)
            return
        go = shutil.which("go")
        if go is None:
            wanted = re.search(r"^go (\S+)", (ROOT / "go.mod").read_text(), re.MULTILINE)[1]
            raise SystemExit(f"libsparse: building needs Go {wanted} or newer on PATH; using a built wheel does not.")
        # setuptools hands out an absolute path only for builds in place
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        if ext.name == LIBRARY.name:
            flags = f"-s -w -X libsparse/command.Version={self.distribution.get_version()}"
            command = [go, "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags", flags]
            environment = {**os.environ, "CGO_ENABLED": "1"}
            subprocess.run([*command, "-o", str(target), "./capi"], cwd=ROOT, env=environment, check=True)
            target.with_suffix(".h").unlink(missing_ok=True)  # cgo's header; ours is capi/libsparse.h
        else:
            named = subprocess.run([go, "env", "CC"], check=True, capture_output=True, text=True).stdout
            library = Path(self.get_ext_fullpath(LIBRARY.name)).resolve()
            beside = [f"-L{library.parent}", f"-l:{library.name}", "-Wl,-rpath,$ORIGIN"]
            source = "cmd/program/program.c"
            subprocess.run([*shlex.split(named), "-O2", "-s", source, "-o", str(target), *beside], cwd=ROOT, check=True)


class AnyPython(bdist_wheel):
    """One wheel for every Python 3: nothing in it links to libpython or to torch."""

    def get_tag(self) -> tuple[str, str, str]:
        """Keep the platform only."""
        return "py3", "none", super().get_tag()[2]


setup(ext_modules=[LIBRARY, PROGRAM, *SHORTCUTS], cmdclass={"build_ext": BuildGo, "bdist_wheel": AnyPython})
