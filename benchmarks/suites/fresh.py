"""What the latency suite does in processes of their own: python -m suites.fresh first|new <cache folder>."""

from __future__ import annotations

import json
import sys
import time

import torch

# Nothing else is imported here: the import of libsparse is measured.

# einsum, and formats of its operands ("" is dense); all of them new kernels where the cache is empty
NEW = (
    ("ij,jk->ik", "csr", ""),
    ("ij,jk->ik", "csc", ""),
    ("ij,jk->ik", "dcsr", ""),
    ("ij,kj->ik", "csr", ""),
    ("ij,j->i", "csr", ""),
    ("ij,ij->ij", "csr", ""),
    ("ij,ij->ij", "csr", "csr"),
    ("ij,ij->", "csr", ""),
    ("ij->i", "csr"),
    ("ijk,kr->ijr", "csf", ""),
    ("ijk,jr,kr->ir", "csf", "", ""),
)


def first_call(cache: str) -> dict[str, float]:
    """Import, first call, and a later one: the second call still prepares the short cut of `A @ x`."""
    start = time.perf_counter()
    import libsparse as ls

    imported = time.perf_counter() - start
    from data.generated import uniform

    torch.set_num_threads(1)  # what is measured is finding and loading the kernel
    ls.options(cache_dir=cache)
    matrix = uniform(1000, 1000, 10_000)
    b = torch.rand(1000, 16)
    # torch's own first-call costs: its threads and its sparse library
    torch.sparse.mm(torch.sparse_csr_tensor(matrix.crow, matrix.col, matrix.values, matrix.shape), b)
    A = ls.from_csr(matrix.crow, matrix.col, matrix.values, matrix.shape)
    times = []
    for _ in range(6):
        start = time.perf_counter()
        A @ b
        times.append(time.perf_counter() - start)
    return {"import": imported, "first": times[0], "later": min(times[2:])}


def new_expressions(cache: str) -> dict[str, list[float]]:
    """Call to result of each expression, and the compiler's part of it."""
    import libsparse as ls

    ls.options(cache_dir=cache)
    torch.manual_seed(0)
    calls, stages = [], []
    for spec, *formats in NEW:
        extent = 24 if len(spec.split(",")[0].split("-")[0]) > 2 else 256
        operands = []
        for term, format_ in zip(spec.split("->")[0].split(","), formats, strict=True):
            shape = [16 if index == "r" else extent for index in term]
            operands.append(ls.random(shape, 0.02, format=format_) if format_ else torch.rand(shape))
        start = time.perf_counter()
        ls.einsum(spec, *operands)
        calls.append(time.perf_counter() - start)
        start = time.perf_counter()
        str(ls.explain(spec, *operands, stage="c"))
        stages.append(time.perf_counter() - start)
    return {"calls": calls, "stages": stages}


if __name__ == "__main__":
    print(json.dumps({"first": first_call, "new": new_expressions}[sys.argv[1]](sys.argv[2])))
