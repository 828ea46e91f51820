"""The names of DGL's sparse matrices (`dgl.sparse`): functions as in DGL 2, of SparseTensors.

    import libsparse.dglsp as dglsp  # in place of: import dgl.sparse as dglsp

Scripts made of functions, operators, `.row`, `.col`, `.val`, `.coo()`, `.csr()` and `.csc()` run after this change of
import. Methods that a SparseTensor has not, such as `A.smax(1)` and `A.compact(0)`, are functions here, and the error
says so. A matrix whose non-zeros are vectors, with values of shape (nnz, d), is a SparseTensor of shape (rows, columns,
d): the last dimension is dense, and `nnz` counts its elements. Operators act on elements that are not stored, too: of a
diagonal `D`, `D ** -0.5` is infinite there, and `power(D, -0.5)` is of stored values. Values of coordinates that come
twice are added.
"""

from __future__ import annotations

from .elementwise import (
    add,
    div,
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
    compact,
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
from .products import (
    bsddmm,
    bspmm,
    matmul,
    sddmm,
    softmax,
    spmm,
    spspmm,
)
from .reductions import (
    reduce,
    smax,
    smean,
    smin,
    sprod,
    sum,
)

__all__ = [
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
