"""NumPy's arrays and SciPy's sparse arrays as operands."""

from __future__ import annotations

import sys
from typing import Any

import torch

from libsparse._runtime.problem import Operand
from libsparse._storage import checks, validate
from libsparse._storage.format import Format

from .assemble import assemble, pattern_from_levels, to_format


def is_foreign(value: Any) -> bool:
    """Whether a value is an array of NumPy or a sparse array of SciPy; neither is imported for it."""
    numpy, sparse = sys.modules.get("numpy"), sys.modules.get("scipy.sparse")
    return (numpy is not None and isinstance(value, numpy.ndarray)) or (sparse is not None and sparse.issparse(value))


def is_number(value: Any) -> bool:
    """Whether a value is a number of NumPy that has a counterpart in Python; those of float64 are Python's, too."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic) and type(value.item()) in (bool, int, float, complex)


def read(value: Any, format: str | Format | None = None) -> Operand:
    """The operand of an array for which `is_foreign` holds.

    Args:
        value: A NumPy array, whose memory is shared, or a SciPy sparse array, which is copied.
        format: The format of a sparse one; by default its own, `coo` for those that libsparse lacks.
    """
    if not hasattr(value, "tocoo"):
        return Operand(None, validate.tensor("an array", value))
    if value.format in ("csr", "csc") and value.ndim == 2:
        value = value.copy()
        value.sum_duplicates()
        pos, crd = torch.from_numpy(value.indptr), torch.from_numpy(value.indices)
        called = checks.Names("indptr", "indices", "row" if value.format == "csr" else "column")
        pattern = pattern_from_levels(value.format, value.shape, [None, pos], [None, crd], called=called)
        found = Operand(pattern, torch.from_numpy(value.data))
        return found if format is None else to_format(found, format)
    coo = value.tocoo()
    coords = [torch.as_tensor(c, dtype=torch.int64, device="cpu") for c in getattr(coo, "coords", (coo.row, coo.col))]
    return assemble(coords, torch.from_numpy(coo.data.copy()), coo.shape, format or "coo")
