"""A peer by path: finch-tensor, which compiles anew in every call and takes a second or more.

pip install finch-tensor
make bench ARGS="kernels --quick --rounds 3 --kernels spmv,spmm --peer benchmarks/examples/finch.py"
"""

from __future__ import annotations

from typing import Any

import finch
import numpy as np
from method.operands import Matrix
from peers.peer import Peer, Run
from scipy.sparse import csr_array


def _csr(m: Matrix) -> Any:
    matrix = csr_array((m.values.numpy(), m.col.numpy(), m.crow.numpy()), shape=m.shape)
    matrix.indices, matrix.indptr = (
        matrix.indices.astype(np.int64),
        matrix.indptr.astype(np.int64),
    )  # it takes no others
    return finch.asarray(matrix)


class Finch(Peer):
    """See `Peer`."""

    title = "finch-tensor (1 thread)"

    def spmv(self, p: Any) -> Run:
        """Y = A x."""
        return self._product(_csr(p.A), finch.asarray(p.x.numpy()))

    def spmm(self, p: Any) -> Run:
        """Y = A X."""
        return self._product(_csr(p.A), finch.asarray(p.X.numpy()))

    def _product(self, A: Any, X: Any) -> Run:
        product = finch.matmul(finch.defer(A), finch.defer(X))
        return lambda: finch.compute(product, ctx=finch.COMPILE_NUMBA)

    def read(self, result: Any) -> Any:
        """Its arrays are NumPy's."""
        return super().read(np.asarray(result))


PEERS = [Finch()]
