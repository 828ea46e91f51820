"""The names of DGL's sparse matrices (`dgl.sparse`), on SparseTensors: scripts for DGL 2 run after a change of import.

    import libsparse.dglsp as dglsp  # in place of: import dgl.sparse as dglsp

A matrix is a `SparseMatrix`, which is a SparseTensor with DGL's methods and operators: `A.smax(1)`, `D ** -0.5` of what
is stored, `.row`, `.col` and `.val` in the order that was given, and coordinates that come twice. A matrix whose
non-zeros are vectors, with values of shape (nnz, d), has shape (rows, columns, d): the last dimension is dense.
"""

from __future__ import annotations

from .elementwise import (
    add,
    div,
    inv,
    mul,
    neg,
    power,
    sp_add_v,
    sp_broadcast_v,
    sp_div_v,
    sp_mul_v,
    sp_sub_v,
    sub,
)
from .matrices import (
    diag,
    from_coo,
    from_csc,
    from_csr,
    from_torch_sparse,
    identity,
    spmatrix,
    to_torch_sparse_coo,
    to_torch_sparse_csc,
    to_torch_sparse_csr,
    val_like,
)
from .matrix import SparseMatrix
from .products import (
    bsddmm,
    bspmm,
    matmul,
    sddmm,
    spmm,
    spspmm,
)
from .reductions import (
    reduce,
    smax,
    smean,
    smin,
    softmax,
    sprod,
    sum,
)
from .selection import compact

__all__ = [
    "SparseMatrix",
    "add",
    "bsddmm",
    "bspmm",
    "compact",
    "diag",
    "div",
    "from_coo",
    "from_csc",
    "from_csr",
    "from_torch_sparse",
    "identity",
    "inv",
    "matmul",
    "mul",
    "neg",
    "power",
    "reduce",
    "sddmm",
    "smax",
    "smean",
    "smin",
    "softmax",
    "sp_add_v",
    "sp_broadcast_v",
    "sp_div_v",
    "sp_mul_v",
    "sp_sub_v",
    "spmatrix",
    "spmm",
    "sprod",
    "spspmm",
    "sub",
    "sum",
    "to_torch_sparse_coo",
    "to_torch_sparse_csc",
    "to_torch_sparse_csr",
    "val_like",
]
