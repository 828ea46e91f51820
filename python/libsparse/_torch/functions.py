"""All of torch's functions that the package implements: importing a module registers its handlers or hooks."""

from __future__ import annotations

from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._tensor.sparse_tensor import SparseTensor

from . import (  # noqa: F401
    autograd,
    batches,
    composed,
    conversions,
    creation,
    elementwise,
    foreach,
    indexing,
    inplace,
    joining,
    linear_algebra,
    losses,
    numpy_functions,
    optimizers,
    products,
    reductions,
    reshaping,
    scalars,
    shape,
    value_sets,
)

CLASSES = {"": SparseTensor, "P": Pattern, "F": Format}
"""The classes whose methods are complete now, by the letter before their names in the table of examples."""
