"""`neighbors` and `subgraph`: what layers of a graph network need for some of its nodes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

import libsparse as ls

from . import draws


def neighbors(
    A: ls.SparseTensor,
    seeds: Any,
    fanouts: Sequence[int],
    replace: bool = False,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, list[ls.SparseTensor]]:
    """Samples the neighbourhood of nodes, hop by hop (Hamilton et al., GraphSAGE, 2017, section 3.1).

    Rows receive: entry (i, j) is an edge from j to i. The first hop draws entries of the rows of the seeds, each
    further one entries of the rows of all nodes that have been met.

    Args:
        A: The graph, (n, n), in any format.
        seeds: The nodes that are asked for, each once, (m,).
        fanouts: How many entries of a row each hop draws, the hop of the seeds first; -1 for all. A row that has fewer
            gives all of them.
        replace: Whether an entry may be drawn again. It is one entry of its block then, with the value times the number
            of draws (that number, where A has no values).
        generator: A generator of torch; the default one otherwise. Equal states of it give equal samples.

    Returns:
        The nodes, seeds first, (count,), int64, and a block for each layer, in their order. A block is a matrix with a
        row for each node that the layer computes, the first nodes of the list, and a column for each node that it
        needs, these and the next ones: of the first block all nodes, of the last one rows are the seeds. Values are
        those of A, and autograd follows them.

    Raises:
        ShapeError: A is not square, or seeds are no vector.
        DtypeError: A is no SparseTensor, seeds are no integers, or the generator is none of torch's.
        IndexBoundsError: A seed is out of range.
        FormatError: A seed comes twice, or a fanout is no number of entries.
        UnsupportedError: A has a fill value other than 0.

    Example:
        >>> ring = ls.from_edge_index([[0, 1, 2, 3], [1, 2, 3, 0]])
        >>> nodes, blocks = ls.sampling.neighbors(ring, torch.tensor([0]), [1, 1])
        >>> nodes.tolist(), [tuple(block.shape) for block in blocks]
        ([0, 1, 2], [(2, 3), (1, 2)])
        >>> x = torch.eye(4)[nodes]
        >>> for block in blocks:
        ...     x = block.float() @ x
        >>> x.tolist()
        [[0.0, 0.0, 1.0, 0.0]]
    """
    nodes, hops = _nodes(A, "seeds", seeds), _hops(fanouts)
    if not isinstance(generator, torch.Generator | None):
        raise ls.DtypeError(f"generator is a {type(generator).__name__}; expected a torch.Generator")
    if nodes.unique().numel() != nodes.numel():
        raise ls.FormatError("seeds: a node comes twice; use seeds.unique()")
    graph = _by_rows(A)
    pos, col = graph.crow_indices(), graph.col_indices()
    blocks = []
    for fanout in hops:
        seed = int(torch.randint(2**62, (), generator=generator, device="cpu"))
        rows, entries = draws.entries(pos, nodes, fanout, replace, seed)
        count = nodes.numel()
        nodes, columns = draws.numbered(nodes, col.index_select(0, entries).to(torch.int64))
        blocks.append(_block(graph, rows, columns, entries, (count, nodes.numel()), replace))
    return nodes, blocks[::-1]


def subgraph(A: ls.SparseTensor, nodes: Any) -> ls.SparseTensor:
    """The graph of some nodes and of all edges between them: `A[nodes][:, nodes]`.

    Args:
        A: The graph, (n, n), in any format.
        nodes: (m,), integers.

    Returns:
        (m, m), with the values of A, which autograd follows.

    Raises:
        ShapeError: A is not square, or nodes are no vector.
        DtypeError: A is no SparseTensor, or nodes are no integers.
        IndexBoundsError: A node is out of range.

    Example:
        >>> ring = ls.from_edge_index([[0, 1, 2, 3], [1, 2, 3, 0]])
        >>> ls.sampling.subgraph(ring, torch.tensor([1, 2])).indices().tolist()
        [[0], [1]]
    """
    chosen = _nodes(A, "nodes", nodes)
    part: ls.SparseTensor = A[chosen][:, chosen]
    return part


def _by_rows(A: ls.SparseTensor) -> ls.SparseTensor:
    if A.fill_value != 0:
        raise ls.UnsupportedError(f"A ({A._facts()}) has fill_value {A.fill_value}, so that all nodes are neighbours")
    return A.to_format("csr")


def _block(
    graph: ls.SparseTensor, rows: Tensor, columns: Tensor, entries: Tensor, shape: tuple[int, int], replace: bool
) -> ls.SparseTensor:
    values = None
    if graph._held is not None:
        values = graph.values().index_select(0, entries)
    elif replace:
        values = torch.ones(entries.numel(), device="cpu")
    return ls.from_coo(torch.stack([rows, columns]), values, shape, check=False)


def _nodes(A: Any, name: str, nodes: Any) -> Tensor:
    """Checked numbers of nodes, int64."""
    if not isinstance(A, ls.SparseTensor):
        raise ls.DtypeError(f"A is a {type(A).__name__}; expected an ls.SparseTensor, see ls.from_edge_index")
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ls.ShapeError(f"A ({A._facts()}); expected the square matrix of a graph")
    try:
        if not isinstance(nodes, Tensor) and hasattr(nodes, "__array__"):  # torch takes no reversed arrays
            array = nodes.__array__()
            nodes = array.astype(array.dtype.newbyteorder("="), order="C")
        found = torch.as_tensor(nodes, device="cpu")
    except (TypeError, ValueError, RuntimeError) as error:
        raise ls.DtypeError(f"{name} is a {type(nodes).__name__}; expected integers: {error}") from None
    if found.numel() == 0:
        found = found.to(torch.int64)
    if found.dtype == torch.bool or found.is_floating_point() or found.is_complex():
        raise ls.DtypeError(f"{name} have dtype {found.dtype}; expected integers, as of mask.nonzero().squeeze(1)")
    if found.ndim != 1:
        raise ls.ShapeError(f"{name} have shape {tuple(found.shape)}; expected a vector of nodes")
    found = found.to(torch.int64).contiguous()
    least, most = map(int, torch.aminmax(found)) if found.numel() else (0, -1)
    if least < 0 or most >= A.shape[0]:
        outside = least if least < 0 else most
        raise ls.IndexBoundsError(f"{name}: node {outside} is outside of 0 to {A.shape[0] - 1}, the rows of A")
    return found


def _hops(fanouts: Any) -> list[int]:
    if not isinstance(fanouts, Iterable):
        raise ls.DtypeError(f"fanouts is a {type(fanouts).__name__}; expected a number for each hop, such as [10, 5]")
    return [_fanout(fanout) for fanout in fanouts]


def _fanout(fanout: Any) -> int:
    try:
        number = operator.index(fanout)  # also of NumPy's integers
    except TypeError:
        number = -2
    if not -1 <= number <= draws.MOST:
        raise ls.FormatError(f"fanouts: {fanout!r}; expected how many entries of a row are drawn, or -1 for all")
    return number
