"""Operands of a computation as a command line describes them: files, and random tensors of a format and a shape."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch

import libsparse as ls
from libsparse._lang.errors import DtypeError, FormatError


def read(options: argparse.Namespace) -> tuple[list[torch.Tensor], dict[str, Any]]:
    """The operands in order, and those with names."""
    dtype = getattr(torch, options.dtype, None)
    if not isinstance(dtype, torch.dtype):
        raise DtypeError(f"--dtype {options.dtype!r} is no torch dtype; use float32, float64, int64, ...")
    operands: list[torch.Tensor] = []
    named: dict[str, Any] = {}
    for given in options.operands:
        name, equals, text = given.partition("=")
        tensor = _tensor(text if equals else given, dtype, options.density)
        if equals:
            named[name] = tensor
        else:
            operands.append(tensor)
    return operands, named


def _tensor(text: str, dtype: torch.dtype, density: float) -> torch.Tensor:
    path = Path(text)
    if path.is_file():
        return ls.read(path).to(dtype)
    # the last colon: a format may hold one, as in ds:1,0:100x100
    format, colon, extents = text.rpartition(":")
    try:
        shape = tuple(int(extent) for extent in extents.split("x"))
    except ValueError:
        shape = ()
    if not colon or not shape:
        if path.suffix or path.parent != Path():
            raise FormatError(f"operand {text!r}: there is no such file; or write format:shape, as csr:4096x4096")
        raise FormatError(f"operand {text!r}: expected a file, or format:shape, such as csr:4096x4096")
    if format == "dense":
        random = dtype.is_floating_point or dtype.is_complex
        return (torch.rand if random else torch.ones)(shape, dtype=dtype, device="cpu")
    return ls.random(shape, density, format=format).to(dtype)
