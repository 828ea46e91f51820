"""libsparse: a sparse tensor compiler for PyTorch.

    import libsparse as ls
    A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
    y = A @ torch.ones(2, 3)

Importing the package starts no compiler and loads no native code; the first new expression does.
"""

from __future__ import annotations

from . import cache, host
from .construct import (
    diag,
    eye,
    from_bsr,
    from_coo,
    from_csc,
    from_csr,
    from_edge_index,
    from_levels,
    from_mask,
    from_topk,
    random,
    tensor,
)
from .doctor import doctor
from .einsums import einsum
from .errors import (
    DivisionByZeroError,
    DtypeError,
    FormatError,
    IndexBoundsError,
    InternalError,
    LibsparseError,
    ShapeError,
    ToolchainError,
    UnsupportedError,
)
from .explaining import explain
from .expressions import evaluate
from .format import Format
from .interop import from_scipy, from_torch
from .io import read, write
from .overrides import disable, enable, override
from .pattern import Pattern
from .products import matmul, mm, mttkrp, mv, sddmm, spgemm, spmm, spmv
from .registry import register, unregister
from .scheduling import Schedule, schedule
from .settings import options
from .sparsetensor import SparseTensor
from .version import VERSION as __version__

__all__ = [
    "DivisionByZeroError",
    "DtypeError",
    "Format",
    "FormatError",
    "IndexBoundsError",
    "InternalError",
    "LibsparseError",
    "Pattern",
    "Schedule",
    "ShapeError",
    "SparseTensor",
    "ToolchainError",
    "UnsupportedError",
    "__version__",
    "cache",
    "diag",
    "disable",
    "doctor",
    "einsum",
    "enable",
    "evaluate",
    "explain",
    "eye",
    "from_bsr",
    "from_coo",
    "from_csc",
    "from_csr",
    "from_edge_index",
    "from_levels",
    "from_mask",
    "from_scipy",
    "from_topk",
    "from_torch",
    "matmul",
    "mm",
    "mttkrp",
    "mv",
    "options",
    "override",
    "random",
    "read",
    "register",
    "schedule",
    "sddmm",
    "spgemm",
    "spmm",
    "spmv",
    "tensor",
    "unregister",
    "write",
]

# What every request names is found out now, so that the first call need not wait for it.
host.identity()
