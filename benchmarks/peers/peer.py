"""What a peer is.

A file of this folder, or one that `--peer path.py` names, has a list `PEERS` of objects of subclasses of `Peer`. A
subclass has one method for each kernel that the library can do, with the kernel's name (`kernels/` lists them with
their operands):

    class SciPy(Peer):
        title = "SciPy"

        def spmm(self, p):
            A = csr_array((p.A.values.numpy(), p.A.col.numpy(), p.A.crow.numpy()), shape=p.A.shape)
            X = p.X.numpy()
            return lambda: A @ X

The method prepares: it makes the library's own objects, as a user would once. What it returns is called again and
again, and that alone is timed. Kernels marked `new` are also timed with the preparation, on arrays never seen before.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from method import checking

Run = Callable[[], Any]


class Absent(Exception):
    """The library isn't here; the text says why, in one line."""


class Unsupported(Exception):
    """The library can't do this: the type, the shape, or the size."""


class Peer:
    """A library, or a way to use one.

    Attributes:
        title: For tables.
        apart: Whether it gets a process of its own: where it brings another OpenMP runtime, whose threads would be in
            the way of the others'.
        environment: What has to be in the environment of that process.
    """

    title = ""
    apart = False
    environment: Mapping[str, str] = MappingProxyType({})

    def threads(self, count: int) -> None:
        """Sets how many threads the library uses, where torch's setting doesn't reach it."""

    def read(self, result: Any) -> checking.Result:
        """Reads a result for the check; for results that `checking.read` doesn't know."""
        return checking.read(result)

    @property
    def file(self) -> str:
        """The file that it is from, as `load` takes it."""
        module = sys.modules[type(self).__module__]
        return str(module.__file__) if module.__name__.startswith("peer_") else module.__name__.rpartition(".")[2]

    def prepares(self, kernel: str) -> bool:
        """Whether it has the kernel."""
        return callable(getattr(self, kernel, None))

    def prepare(self, kernel: str, problem: Any) -> Run:
        """Calls the method of the kernel."""
        run: Run = getattr(self, kernel)(problem)
        return run


def need(condition: bool, reason: str) -> None:
    """Raises `Unsupported` unless the condition holds."""
    if not condition:
        raise Unsupported(reason)


def gradients(result: Any, inputs: Sequence[Any], gradient: Any) -> Run:
    """A call that computes the gradients of `inputs`, of a result that was computed once."""
    return lambda: torch.autograd.grad(result, inputs, gradient, retain_graph=True)


FILES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("__init__", "peer")))


def available(extra: Sequence[str] = ()) -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers that are here by title, libsparse and torch first; and why the others are not, by file.

    Args:
        extra: Paths of files with further peers.
    """
    found: list[Peer] = []
    absent: dict[str, str] = {}
    for name in sorted(FILES, key=lambda n: (n not in ("libsparse", "torch_csr"), n)):
        reason = _take(name, found)
        if reason:
            absent[name] = reason
    for path in extra:
        found += load(path).PEERS
    return {peer.title: peer for peer in found}, absent


def _take(name: str, found: list[Peer]) -> str:
    """Adds the peers of a file of this folder; or says why they aren't here."""
    try:
        found += load(name).PEERS
    except (Absent, ImportError, OSError) as error:
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    return ""


def load(file: str) -> Any:
    """The module of a file of this folder, by its name, or of any other, by its path.

    Raises:
        SystemExit: There is no such file, or what it needs is missing.
    """
    if file in FILES:
        return importlib.import_module(f"peers.{file}")
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise SystemExit(f"--peer: {path} is not a file")
    name = f"peer_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except (Absent, ImportError, OSError) as error:
            raise SystemExit(f"--peer {file}: {error}") from None
    return sys.modules[name]
