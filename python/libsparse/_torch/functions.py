"""All of torch's functions that the package implements: importing a module registers its handlers."""

from __future__ import annotations

from . import (  # noqa: F401
    autograd,
    conversions,
    creation,
    elementwise,
    foreach,
    indexing,
    inplace,
    joining,
    linear_algebra,
    losses,
    optimizers,
    products,
    reductions,
    reshaping,
    scalars,
    shape,
)
