"""Matrices and tensors of a folder: every .mtx, .tns and .npz file below it, also gzipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from method.operands import Matrix, SparseTensor

import libsparse as ls

MATRICES = (".mtx", ".mtx.gz", ".npz")
TENSORS = (".tns", ".tns.gz")
_QUICK_BYTES = 400_000  # of a file that a quick run reads
_QUICK_COUNT = 6


def stem(path: Path) -> str:
    """The name without suffixes."""
    name = path.name
    for suffix in (".gz", ".mtx", ".tns", ".npz"):
        name = name.removesuffix(suffix)
    return name


def family(path: Path, folder: Path) -> str:
    """The folder that a file is in, below the one that was named."""
    return str(path.parent.relative_to(folder)) if path.parent != folder else folder.name


def found(folder: str, suffixes: Sequence[str], only: str | None = None, *, quick: bool = False) -> list[Path]:
    """The files with these suffixes whose `family/name` the pattern `only` matches somewhere, families in turns.

    Raises:
        SystemExit: There are none.
    """
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise SystemExit(f"DATA: {root} is not a folder")
    paths = [path for path in sorted(root.rglob("*")) if path.name.endswith(tuple(suffixes)) and path.is_file()]
    if only:
        paths = [path for path in paths if re.search(only, f"{family(path, root)}/{stem(path)}")]
    if quick and len(paths) > _QUICK_COUNT:
        paths = _in_turns([path for path in paths if path.stat().st_size <= _QUICK_BYTES], root)[:_QUICK_COUNT]
    return paths


def _in_turns(paths: Sequence[Path], root: Path) -> list[Path]:
    # one file of each family, then another of each: a few of them show something of all
    families: dict[str, list[Path]] = {}
    for path in paths:
        families.setdefault(family(path, root), []).append(path)
    longest = max(map(len, families.values()), default=0)
    return [group[turn] for turn in range(longest) for group in families.values() if turn < len(group)]


def random_values(count: int) -> torch.Tensor:
    """Values that no library can guess: files of patterns have none, and those of counts repeat a few."""
    return torch.rand(count, generator=torch.Generator().manual_seed(1)) - 0.5


def read_matrix(path: Path, name: str, family: str) -> Matrix | None:
    """A file's pattern with random values; None where the file holds no matrix."""
    stored = ls.read(path, dtype=torch.float32)
    if stored.dim() != 2:
        return None
    stored = stored.to_format("csr")
    crow, col = stored.crow_indices().int(), stored.col_indices().int()
    return Matrix(name, family, crow, col, random_values(col.numel()), tuple(stored.shape))


def read_tensor(path: Path, name: str, family: str) -> SparseTensor | None:
    """A file's pattern with random values; None where its order isn't 3."""
    stored = ls.read(path, dtype=torch.float32)
    if stored.dim() != 3:
        return None
    coords = stored.to_format("coo").indices().long().contiguous()
    return SparseTensor(name, family, coords, random_values(coords.shape[1]), tuple(stored.shape))


def matrices(folder: str, only: str | None = None, *, quick: bool = False, most: int | None = None) -> Iterator[Matrix]:
    """The matrices of a folder, one at a time; `most` bounds the number of entries."""
    yield from _each(folder, MATRICES, read_matrix, only, quick, most)


def tensors(
    folder: str, only: str | None = None, *, quick: bool = False, most: int | None = None
) -> Iterator[SparseTensor]:
    """The tensors of order 3 of a folder, likewise."""
    yield from _each(folder, TENSORS, read_tensor, only, quick, most)


def _each(folder, suffixes, read, only, quick, most):  # type: ignore[no-untyped-def]
    root = Path(folder).expanduser()
    for path in found(folder, suffixes, only, quick=quick):
        try:
            one = read(path, stem(path), family(path, root))
        except (ls.LibsparseError, ValueError, KeyError) as error:  # .npz files hold anything
            print(f"  {path.name}: not read: {error}")
            continue
        if one is not None and one.nnz and (most is None or one.nnz <= most):
            yield one


def named(folder: str | None, name: str) -> Matrix | None:
    """The matrix of this name anywhere below the folder."""
    if folder is None:
        return None
    paths = [path for path in found(folder, MATRICES) if stem(path) == name]
    return read_matrix(paths[0], name, family(paths[0], Path(folder).expanduser())) if paths else None
