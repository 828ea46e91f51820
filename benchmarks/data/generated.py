"""Generated matrices and tensors, the same every time: stand-ins for graphs, meshes, pruned weights and ratings."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from method.operands import Matrix, SparseTensor
from torch import Tensor

from .files import random_values


def from_edges(name: str, family: str, rows: Tensor, columns: Tensor, shape: tuple[int, int]) -> Matrix:
    """The matrix with entries at these places, each counted once."""
    keys = (rows.long() * shape[1] + columns.long()).unique()
    crow = torch.zeros(shape[0] + 1, dtype=torch.int32)
    crow[1:] = torch.bincount(keys // shape[1], minlength=shape[0]).cumsum(0)
    return Matrix(name, family, crow, (keys % shape[1]).int(), random_values(keys.numel()), shape)


def uniform(rows: int, columns: int, nnz: int, seed: int = 0) -> Matrix:
    """`nnz` entries at random places."""
    random = torch.Generator().manual_seed(seed)
    keys = torch.randperm(rows * columns, generator=random)[:nnz]
    return from_edges(f"uniform-{rows}x{columns}-{nnz}", "generated", keys // columns, keys % columns, (rows, columns))


def rmat(scale: int, degree: int, seed: int = 0) -> Matrix:
    """A graph of 2^scale nodes with a power law, as R-MAT draws it: bit by bit an edge falls into one of four parts."""
    random = torch.Generator().manual_seed(seed)
    count, nodes = degree << scale, 1 << scale
    row, column = torch.zeros(count, dtype=torch.int64), torch.zeros(count, dtype=torch.int64)
    for _ in range(scale):
        drawn = torch.rand(count, generator=random)
        row = 2 * row + (drawn >= 0.76).long()
        column = 2 * column + (((drawn >= 0.57) & (drawn < 0.76)) | (drawn >= 0.95)).long()
    shuffle = torch.randperm(nodes, generator=random)
    return from_edges(f"rmat-{scale}-{degree}", "graph", shuffle[row], shuffle[column], (nodes, nodes))


def band(n: int, width: int) -> Matrix:
    """`width` diagonals around the main one."""
    offsets = torch.arange(width) - width // 2
    rows = torch.arange(n).repeat_interleave(width)
    columns = rows + offsets.repeat(n)
    inside = (columns >= 0) & (columns < n)
    return from_edges(f"band-{n}-{width}", "band", rows[inside], columns[inside], (n, n))


def blocks(n: int, size: int, per_row: int, seed: int = 0) -> Matrix:
    """Dense blocks at random places, as finite elements with several unknowns a node have them."""
    random = torch.Generator().manual_seed(seed)
    places = torch.randint(n // size, (n // size, per_row), generator=random)
    i, j = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    rows = (torch.arange(n // size).repeat_interleave(per_row)[:, None] * size + i.reshape(1, -1)).reshape(-1)
    columns = (places.reshape(-1, 1) * size + j.reshape(1, -1)).reshape(-1)
    return from_edges(f"blocks-{n}-{size}", "blocks", rows, columns, (n, n))


def zipf(rows: int, columns: int, count: int, exponent: float, seed: int = 0) -> Matrix:
    """Entries whose rows and columns are as frequent as their ranks to a negative power, in some order of the ranks."""
    random = torch.Generator().manual_seed(seed)
    i, j = (_ranked(extent, count, exponent, random) for extent in (rows, columns))
    return from_edges(f"zipf-{rows}x{columns}-{exponent:g}", "graph", i, j, (rows, columns))


def _ranked(extent: int, count: int, exponent: float, random: torch.Generator) -> Tensor:
    weights = torch.arange(1, extent + 1).double().pow(-exponent).cumsum(0)
    drawn = torch.rand(count, generator=random, dtype=torch.float64) * weights[-1]
    ranks = torch.searchsorted(weights, drawn).clamp(max=extent - 1)
    return torch.randperm(extent, generator=random)[ranks]


def pruned(rows: int, columns: int, density: float, seed: int = 0) -> Matrix:
    """Weights of which the largest are kept, with rows and columns of different importance."""
    random = torch.Generator().manual_seed(seed)
    scale = torch.rand(rows, 1, generator=random) + 0.5
    weight = torch.randn(rows, columns, generator=random) * scale * (torch.rand(columns, generator=random) + 0.5)
    keys = weight.abs().reshape(-1).topk(int(density * weight.numel())).indices
    return from_edges(
        f"pruned-{rows}x{columns}-{density:g}", "pruned", keys // columns, keys % columns, (rows, columns)
    )


def bipartite(users: int, items: int, count: int, seed: int = 0) -> Matrix:
    """Ratings: few items are rated by many."""
    random = torch.Generator().manual_seed(seed)
    rows = (users * torch.rand(count, generator=random) ** 1.5).long()
    columns = (items * torch.rand(count, generator=random) ** 3).long()
    return from_edges(f"bipartite-{users}x{items}", "bipartite", rows, columns, (users, items))


def window(n: int, reach: int, everywhere: int = 0) -> Matrix:
    """A mask of attention: keys at most `reach` from the query, and the first `everywhere` for and by all."""
    near = torch.arange(-reach, reach + 1)
    rows, columns = torch.arange(n).repeat_interleave(near.numel()), (torch.arange(n)[:, None] + near).reshape(-1)
    inside = (columns >= 0) & (columns < n)
    first, every = torch.arange(everywhere).repeat_interleave(n), torch.arange(n).repeat(everywhere)
    rows, columns = torch.cat([rows[inside], first, every]), torch.cat([columns[inside], every, first])
    return from_edges(f"window-{n}-{2 * reach}", "attention", rows, columns, (n, n))


def kind_of_tensor(kind: str, shape: tuple[int, int, int], count: int, seed: int = 0) -> SparseTensor:
    """A tensor of order 3: `zipf`, `uniform`, a `band` around the diagonal, `blocks`, full `slabs` or full `fibers`."""
    random = torch.Generator().manual_seed(seed)

    def some(extent: int, many: int = count) -> Tensor:
        return torch.randint(extent, (many,), generator=random)

    if kind == "zipf":
        drawn = [_ranked(extent, count, 0.8, random) for extent in shape]
    elif kind == "band":
        at = torch.rand(count, generator=random)
        drawn = [((at * n).long() + some(9)).clamp(max=n - 1) for n in shape]
    elif kind == "blocks":
        sizes = [min(4, n) for n in shape]
        inside = torch.cartesian_prod(*[torch.arange(size) for size in sizes])
        corners = [some(-(-n // size), -(-count // len(inside))) * size for n, size in zip(shape, sizes, strict=True)]
        drawn = [
            (corner[:, None] + inside[:, mode]).reshape(-1).clamp(max=n - 1)
            for mode, (corner, n) in enumerate(zip(corners, shape, strict=True))
        ]
    elif kind == "slabs":  # a few of the first mode have all entries
        few = some(shape[0], max(1, shape[0] // 16))
        drawn = [few[some(len(few))], some(shape[1]), some(shape[2])]
    elif kind == "fibers":  # a few pairs of the first two modes have all entries
        pairs = max(1, count // min(64, shape[2]))
        pair, i, j = some(pairs), some(shape[0], pairs), some(shape[1], pairs)
        drawn = [i[pair], j[pair], some(shape[2])]
    else:
        drawn = [some(extent) for extent in shape]
    return _tensor_of(f"{kind}-{'x'.join(map(str, shape))}", drawn, shape)


def power_tensor(shape: tuple[int, int, int], count: int, seed: int = 0) -> SparseTensor:
    """A tensor of order 3 whose low coordinates have more entries."""
    random = torch.Generator().manual_seed(seed)
    drawn = [(extent * torch.rand(count, generator=random).square()).long() for extent in shape]
    return _tensor_of(f"power-{'x'.join(map(str, shape))}", drawn, shape)


def _tensor_of(name: str, drawn: list[Tensor], shape: tuple[int, int, int]) -> SparseTensor:
    keys = ((drawn[0] * shape[1] + drawn[1]) * shape[2] + drawn[2]).unique()
    coords = torch.stack([keys // (shape[1] * shape[2]), keys // shape[2] % shape[1], keys % shape[2]])
    return SparseTensor(name, "tensor", coords, random_values(keys.numel()), shape)


def matrices(*, quick: bool = False) -> Iterator[Matrix]:
    """One of each kind; more of them unless `quick`."""
    yield rmat(12, 16)
    yield band(8_000, 9)
    yield blocks(6_000, 4, 6)
    yield pruned(512, 2304, 0.1)
    if quick:
        return
    yield rmat(15, 24)
    yield band(100_000, 5)
    yield blocks(40_000, 8, 4)
    yield pruned(1024, 784, 0.3)
    yield bipartite(30_000, 40_000, 300_000)
    yield window(4096, 64)


def tensors(*, quick: bool = False) -> Iterator[SparseTensor]:
    """Likewise."""
    yield power_tensor((2_000, 3_000, 400), 100_000)
    if not quick:
        yield power_tensor((20_000, 200, 10_000), 600_000)


def large_matrices() -> Iterator[Matrix]:
    """Matrices of millions of entries, for numbers of threads."""
    yield rmat(18, 16)
    yield band(1 << 18, 15)
    yield blocks(1 << 17, 8, 4)


def large_tensors() -> Iterator[SparseTensor]:
    """Likewise."""
    yield power_tensor((20_000, 30_000, 4_000), 4_000_000)
