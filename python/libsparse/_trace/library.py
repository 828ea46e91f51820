"""`torch.ops.libsparse`: what the package computes, as operators of torch with fake kernels and gradients.

They are called while torch traces, and when the graph that it made runs; eager calls go to the kernels directly. An
operator returns new tensors only, as torch demands: the arrays of a pattern that it returns are copies.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._ops import operands as _operands
from libsparse._ops import product_gradient
from libsparse._runtime import dispatch
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage import packing
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import encoding, libraries
from .patterns import Arrays, copied, count, fake_arrays, put_together

# torch asks inspect for the module of a fake kernel, which resolves the paths of all modules unless it knows this one.
inspect.modulesbyfile[__file__] = __name__

_PATTERN = "str format, SymInt[] shape, Tensor[] arrays"


def _define(name: str, schema: str, **options: Any) -> torch.library.Library:
    """The library of one operator, which is defined again where an import of the package has been interrupted."""
    if name in libraries:
        libraries.pop(name)._destroy()
    library = libraries[name] = torch.library.Library("libsparse", "FRAGMENT")
    library.define(name + schema, **options)
    return library


def define(schema: str, kernel: Callable[..., Any], fake: Callable[..., Any]) -> str:
    """Defines an operator; the function says how long its results are."""
    name, *rest = schema.partition("(")
    library = _define(name, "".join(rest), tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(name, kernel, "CPU")
    torch.library.register_fake(f"libsparse::{name}", fake, lib=library)
    return f"libsparse::{name}"


def define_whole(kernel: Callable[..., Any]) -> None:
    """Defines the operator that makes a sparse tensor of plain ones: exported graphs have sparse results by it."""
    library = _define("put_together", f"({_PATTERN}, Tensor? values, Scalar fill, int[] block) -> Tensor")
    library.impl("put_together", kernel, "CompositeImplicitAutograd")


def _part(tensor: Any, name: str) -> Tensor:
    """The plain tensor of a wrapper that is called so."""
    found: Tensor = getattr(tensor, name)
    return found


_parts = _define("part", "(Tensor tensor, str name) -> Tensor")
for _key in ("Autograd", "Python"):  # above any other: fake kernels and gradients are those of the plain tensor
    _parts.impl("part", _part, _key)


# Patterns ------------------------------------------------------------------------------------------------------


def _coordinates(format: str, shape: Sequence[int], arrays: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The coordinates of the entries, and their places among the values where these are padded."""
    pattern = put_together(Arrays(format, list(shape), list(arrays)))
    coords = pattern.coordinates().clone()
    places = pattern._places()
    if places is None:  # of a format with padding, all of which have places in a graph, every value is an entry
        return coords, torch.arange(pattern.size if pattern.format.padded else 0, device="cpu")
    return coords, places.clone()


def _fake_coordinates(format: str, shape: Sequence[int], arrays: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    pattern = put_together(Arrays(format, list(shape), list(arrays)))
    number, padded = _entries(pattern), pattern.format.padded
    like = arrays[0]
    return like.new_empty((len(shape), number), dtype=torch.int64), like.new_empty(
        (number if padded else 0,), dtype=torch.int64
    )


def _entries(pattern: Pattern) -> Any:
    """The number of entries, a new symbol where only the elements of the arrays say it."""
    return torch.library.get_ctx().new_dynamic_size() if pattern.format.padded else pattern.size


def _gaps(format: Format) -> bool:
    """Whether a format has places for more values than there are entries."""
    return format.pads or format.padded


def _convert(format: str, shape: Sequence[int], arrays: Sequence[Tensor], target: str) -> list[Tensor]:
    """Where the values of a pattern come from in another format and go to there, and its arrays."""
    pattern, wanted = put_together(Arrays(format, list(shape), list(arrays))), Format(target)
    conversion = pattern.converted(wanted)
    source, places = conversion.source, conversion.target
    index = torch.arange(pattern.size, device="cpu") if source is None else source.to(torch.int64, copy=True)
    if not _gaps(wanted):
        there = torch.empty(0, dtype=torch.int64, device="cpu")
    else:
        there = torch.arange(index.numel(), device="cpu") if places is None else places.clone()
    return [index, there, *copied(conversion.pattern, packing.index_dtype(shape, 0))]


def _fake_convert(format: str, shape: Sequence[int], arrays: Sequence[Tensor], target: str) -> list[Tensor]:
    pattern, wanted = put_together(Arrays(format, list(shape), list(arrays))), Format(target)
    number, like, gaps = _entries(pattern), arrays[0], _gaps(wanted)
    total = None if gaps else number
    index, there = (like.new_empty((n,), dtype=torch.int64) for n in (number, number if gaps else 0))
    return [index, there, *fake_arrays(wanted, shape, packing.index_dtype(shape, 0), total, like)]


def _diagonal(format: str, shape: Sequence[int], arrays: Sequence[Tensor], groups: Sequence[int]) -> list[Tensor]:
    """The places of the entries whose coordinates agree in each group of modes, and the arrays of their pattern."""
    pattern = put_together(Arrays(format, list(shape), list(arrays)))
    smaller, places = _operands.diagonal_pattern(pattern, tuple(groups))
    return [places.to(torch.int64, copy=True), *copied(smaller, packing.index_dtype(shape, 0))]


def _fake_diagonal(format: str, shape: Sequence[int], arrays: Sequence[Tensor], groups: Sequence[int]) -> list[Tensor]:
    number = torch.library.get_ctx().new_dynamic_size()
    kept = [shape[list(groups).index(g)] for g in range(max(groups) + 1)]
    found = fake_arrays(Format("csf").resolve(len(kept)), kept, packing.index_dtype(shape, 0), number, arrays[0])
    return [arrays[0].new_empty((number,), dtype=torch.int64), *found]


def _locate(
    format: str, shape: Sequence[int], arrays: Sequence[Tensor], other: str, others: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Where the entries of a pattern are among those of another, and whether they are there."""
    pattern = put_together(Arrays(format, list(shape), list(arrays)))
    numbers, found = pattern.locate(put_together(Arrays(other, list(shape), list(others))))
    return numbers.clone(), found.clone()


def _fake_locate(
    format: str, shape: Sequence[int], arrays: Sequence[Tensor], other: str, others: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    number = _entries(put_together(Arrays(format, list(shape), list(arrays))))
    return arrays[0].new_empty((number,), dtype=torch.int64), arrays[0].new_empty((number,), dtype=torch.bool)


# Computations --------------------------------------------------------------------------------------------------


def read(
    formats: Sequence[str], shape: Sequence[Any], arrays: Sequence[Tensor], values: Sequence[Tensor]
) -> list[Operand]:
    """The operands of a computation.

    Args:
        formats: The format of each operand: "" of a dense one, with a final "?" of one that is only a pattern.
        shape: The shapes of the sparse ones, one behind the other.
        arrays: Their arrays.
        values: The values of those that have some.
    """
    extents, left, datas = list(shape), list(arrays), iter(values)
    operands: list[Operand] = []
    for text in formats:
        if not text:
            operands.append(Operand(None, next(datas)))
            continue
        format, ndim, number = _described(text)
        pattern = put_together(Arrays(format, extents[:ndim], left[:number]))
        del extents[:ndim], left[:number]
        operands.append(Operand(pattern, None if text.endswith("?") else next(datas)))
    return operands


@functools.cache
def _described(text: str) -> tuple[str, int, int]:
    """The format of a sparse operand, and how many extents and arrays it has."""
    format = Format(text.rstrip("?"))
    return format.text, len(format.order), count(format)


def _compute(
    problem: str, formats: Sequence[str], shape: Sequence[int], arrays: Sequence[Tensor], values: Sequence[Tensor]
) -> list[Tensor]:
    """The values of the result of a problem, and the arrays of its pattern unless it is that of an operand."""
    question = encoding.from_text(problem)
    operands = read(formats, shape, arrays, [v.detach() for v in values])
    data, pattern = dispatch.run(question, operands)
    if pattern is None:
        return [data]
    if question.pattern_of is not None:
        return [operands[question.pattern_of].sparsity.resample(data, pattern)]
    return [data, *copied(pattern, packing.index_dtype(pattern.shape, 0))]


def _fake_compute(
    problem: str, formats: Sequence[str], shape: Sequence[Any], arrays: Sequence[Tensor], values: Sequence[Tensor]
) -> list[Tensor]:
    question = encoding.from_text(problem)
    operands = read(formats, shape, arrays, values)
    found = question.result_shape(question.extents(operands))
    like = next(iter((*values, *arrays)))
    dtype, format = question.dtype, question.output_format
    assert dtype is not None
    if question.pattern_of is not None:
        return [like.new_empty((operands[question.pattern_of].sparsity.size,), dtype=dtype)]
    if format is None or format.is_dense:
        return [_fake_dense(like, found, format, dtype)]
    levels = fake_arrays(format, found, packing.index_dtype(found, 0), None, like)
    pattern = put_together(Arrays(format.text, list(found), levels))
    return [like.new_empty((pattern.size,), dtype=dtype), *levels]


def _fake_dense(like: Tensor, shape: Sequence[Any], format: Format | None, dtype: torch.dtype) -> Tensor:
    order = range(len(shape)) if format is None else format.order
    back = [list(order).index(mode) for mode in range(len(shape))]
    return like.new_empty([shape[mode] for mode in order], dtype=dtype).permute(back)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Sequence[Tensor]) -> None:
    problem, formats, shape, arrays, values = inputs
    ctx.problem, ctx.formats, ctx.shape = problem, formats, shape
    ctx.counts = len(arrays), len(values)
    ctx.save_for_backward(*arrays, *values, *output[1:])
    ctx.set_materialize_grads(False)


def _gradients(ctx: Any, grads: Sequence[Tensor | None]) -> tuple[Any, ...]:
    (first, second), saved = ctx.counts, list(ctx.saved_tensors)
    arrays, values, levels = saved[:first], saved[first : first + second], saved[first + second :]
    wanted = ctx.needs_input_grad[4]
    wanted = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted] * second
    found: list[Tensor | None] = [None] * second
    if grads[0] is not None:
        problem = encoding.from_text(ctx.problem)
        operands = read(ctx.formats, ctx.shape, arrays, values)
        node = _node(problem, operands)
        node.pattern = result_pattern(problem, operands, levels)
        datas, left = [o.data for o in operands], iter(wanted)
        needed = [o.data is not None and next(left) for o in operands]
        grad = grads[0] if node.pattern is None else grads[0].contiguous()
        every = node.gradients(datas, node.kept(datas), grad, needed)
        found = [g for g, o in zip(every, operands, strict=True) if o.data is not None]
    shape: list[None] | None = None if len(ctx.shape) else []  # torch takes an empty list for one of tensors
    return None, None, shape, [None] * first, found


def _node(problem: Problem, operands: Sequence[Operand]) -> tape.Node:
    """The node of a problem that has been computed already, for its gradients."""
    patterns = [operand.pattern for operand in operands]
    if tape.is_product(problem):
        return product_gradient.Product(problem, patterns)
    from libsparse._ops import expression_gradient  # products, which most graphs have alone, do without it

    return expression_gradient.Expression(expression_gradient.as_expression(problem), patterns)


def result_pattern(question: Problem, operands: Sequence[Operand], levels: Sequence[Tensor]) -> Pattern | None:
    """The pattern of a result, of which the operator returned the arrays."""
    if question.pattern_of is not None:
        return operands[question.pattern_of].sparsity
    if question.output_format is None or question.output_format.is_dense:
        return None
    shape = question.result_shape(question.extents(operands))
    return put_together(Arrays(question.output_format.text, list(shape), list(levels)))


define(f"coordinates({_PATTERN}) -> (Tensor, Tensor)", _coordinates, _fake_coordinates)
define(f"convert({_PATTERN}, str target) -> Tensor[]", _convert, _fake_convert)
define(f"diagonal({_PATTERN}, int[] groups) -> Tensor[]", _diagonal, _fake_diagonal)
define(f"locate({_PATTERN}, str other, Tensor[] others) -> (Tensor, Tensor)", _locate, _fake_locate)
torch.library.register_autograd(
    define(
        "compute(str problem, str[] formats, SymInt[] shape, Tensor[] arrays, Tensor[] values) -> Tensor[]",
        _compute,
        _fake_compute,
    ),
    _gradients,
    setup_context=_keep,
    lib=libraries["compute"],
)
