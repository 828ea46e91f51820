"""Installs a wheel and an sdist in clean environments, and runs `ordinary_use.py` in each.

    python environments.py FOLDER [--python PYTHON ...] [--torch VERSION ...]

`make test-install` calls it. FOLDER has one wheel and one sdist. Each PYTHON (default: the one that runs this) gets
each version of torch (default: the newest that its registry has; a path is a folder of packages with one).
Environments have a home folder and a cache of their own, and of the system's tools only those that they are given;
the wheel is installed without an index.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
LARGEST = 15_000_000  # bytes of a wheel


def run(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with little more than these variables; its output is kept."""
    return subprocess.run(
        [str(part) for part in command],
        env={"LANG": "C.UTF-8", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=environment.get("HOME", "/"),
        check=False,
    )


def expect(done: subprocess.CompletedProcess[str], title: str, wanted: str = "") -> None:
    """Says how a step ended; stops where it didn't end as it should."""
    good = wanted in done.stdout if wanted else done.returncode == 0
    print(f"{'ok  ' if good else 'FAIL'} {title}", flush=True)
    if not good:
        print(done.stdout[-4000:])
        raise SystemExit(1)


class Environment:
    """A virtual environment in a folder, in which a torch that was installed once is seen through a path file."""

    def __init__(self, python: str, torch: Path | None, folder: Path) -> None:
        """Make it."""
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        self.python = folder / "venv" / "bin" / "python"
        if torch is not None:
            (self.packages / "torch.pth").write_text(f"{torch}\n")

    @property
    def packages(self) -> Path:
        """The folder of its packages."""
        (found,) = self.python.parents[1].glob("lib/python*/site-packages")
        return found

    def path(self, *tools: str) -> str:
        """A PATH with nothing on it but these of the system's tools."""
        folder = self.home / "-".join(("bin", *tools))
        folder.mkdir(exist_ok=True)
        for tool in (*tools, "sh", "uname", "ldd", "env"):
            found = shutil.which(tool)
            if found and not (folder / tool).exists():
                (folder / tool).symlink_to(Path(found).resolve())
        return str(folder)

    def pip(self, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs pip's install."""
        return run([self.python, "-m", "pip", "install", "-q", *arguments], HOME=str(self.home), **environment)

    def use(self, path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs `ordinary_use.py`."""
        return run([self.python, HERE / "ordinary_use.py", *arguments], HOME=str(self.home), PATH=path)


def torch_for(python: str, version: str, folder: Path) -> Path:
    """The folder of packages of an environment with this torch ("" is the newest) and NumPy."""
    made = Environment(python, None, folder)
    wanted = ["torch" if not version else f"torch=={version}", "numpy<2" if version.startswith("2.4") else "numpy"]
    done = run([made.python, "-m", "pip", "install", "-q", *wanted], **{**os.environ, "HOME": str(made.home)})
    expect(done, f"{python}: torch {version or 'newest'}")
    return made.packages


def check(python: str, torch: Path, wheel: Path, sdist: Path, title: str, folder: Path) -> None:
    """All ways to install with one Python and one torch."""
    plain = Environment(python, torch, folder / "wheel")
    expect(plain.pip("--no-deps", "--no-index", wheel, PATH=plain.path()), f"{title}: the wheel installs")
    nothing, gcc = plain.path(), plain.path("gcc", "as", "ld", "cc1", "collect2")
    expect(plain.use(nothing, "--without-compiler"), f"{title}: used without Go, gcc and a cache")
    expect(plain.use(gcc), f"{title}: used with gcc")
    for path in plain.packages.rglob("*"):
        path.chmod(path.stat().st_mode & ~0o222)
    plain.packages.chmod(0o555)
    shutil.rmtree(plain.home / ".cache", ignore_errors=True)
    expect(plain.use(nothing), f"{title}: used from folders that nobody may write to")
    plain.packages.chmod(0o755)

    source = Environment(python, torch, folder / "sdist")
    done = source.pip("--no-deps", sdist, PATH=source.path("gcc"))  # pip gets setuptools from its index
    expect(done, f"{title}: the sdist without Go says what is missing", "building needs Go")


def main() -> None:
    """Read the command line, and check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", nargs="*", default=[sys.executable])
    parser.add_argument("--torch", nargs="*", default=[""])
    given = parser.parse_args()
    (wheel,) = given.folder.resolve().glob("*.whl")
    (sdist,) = given.folder.resolve().glob("*.tar.gz")
    size = wheel.stat().st_size
    print(f"{wheel.name} has {size / 1e6:.1f} MB")
    if size > LARGEST:
        raise SystemExit(f"the wheel is larger than {LARGEST / 1e6:.0f} MB: look for what is in it twice (unzip -lv)")
    with tempfile.TemporaryDirectory() as name:
        for python in given.python:
            for version in given.torch:
                folder = Path(name) / str(len(list(Path(name).iterdir())))
                # a folder of packages that has a torch is used as it is
                packages = Path(version) if "/" in version else torch_for(python, version, folder / "torch")
                check(python, packages, wheel, sdist, f"{Path(python).name}, torch {version or 'newest'}", folder)


main()
