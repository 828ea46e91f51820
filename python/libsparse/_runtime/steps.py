"""Plans: the prepared problems and functions that a call came to, run again on other elements."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from libsparse._lang.records import NamedTuple
from libsparse._storage import threads
from libsparse._storage.pattern import Pattern

from . import notes
from .direct import Direct, native
from .layout import contiguous
from .problem import Anew, Operand, Problem, of_step

if TYPE_CHECKING:
    from libsparse._compiler import kernel

_NAMES = "add sub mul div neg abs relu sqrt square sign exp log sin cos tanh sigmoid expm1 log1p pow"
ELEMENTWISE_FUNCTIONS = frozenset(getattr(place, name) for name in _NAMES.split() for place in (torch, Tensor))
"""Functions that write their results to new arrays, in order and with the signs that they have."""


_of_tensors: set[Any] = {*ELEMENTWISE_FUNCTIONS}


@functools.cache
def sum_in(dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """The sum of all elements of a tensor in a dtype: the same function each time, by which recipes are compared."""
    found = functools.partial(torch.sum, dtype=dtype)
    _of_tensors.add(found)
    return found


class Permuted(NamedTuple):
    """A function that permutes the dimensions of a tensor; equal to others of the same permutation."""

    dims: tuple[int, ...]

    def __call__(self, tensor: Tensor) -> Tensor:
        """A view of the tensor."""
        return tensor.permute(self.dims)


View = tuple[bool, tuple[int, ...] | None, tuple[int, ...] | None, tuple[int, ...] | None]
"""How a step sees a tensor: whether detached from autograd, in which other shape and strides, copied in which order."""

Place = int | weakref.ref[Pattern] | None
"""The pattern of a result: the number of one, a reference to one that another keeps, None of a dense result."""

Plan = tuple[tuple[Any, ...], Place, Any, View | None]
"""Steps; the pattern of the result; its fill value; how a dense result is seen.

Each step is a tuple of a kind and what belongs to that; arguments and results of steps are numbered, and each step adds
its own. `repeat.c` runs plans, and the functions below where there is no C compiler.
"""

KERNEL, FUNCTION, PROBLEM, ELEMENTWISE = range(4)  # kinds of steps; the last is a of `ELEMENTWISE_FUNCTIONS`


def run_in_python(plan: Plan, values: list[Any], patterns: list[Any]) -> Operand | Tensor | None:
    """The result of a plan for arguments of these elements and patterns; None where it has to be found anew."""
    steps, pattern, fill, view = plan
    for kind, *step in steps:
        if kind == KERNEL:
            prepared, variant, direct, reads, found = step
            if prepared.variant is not variant:
                return None
            values.append(direct(*[seen(values[n], how) for n, how in reads], threads.count()))
            patterns.append(patterns[found] if type(found) is int else found)
        elif kind != PROBLEM:
            function, given = step
            values.append(function(*[how if n < 0 else seen(values[n], how) for n, how in given]))
            patterns.append(None)
        elif not step[0](values, patterns):
            return None
    if pattern is None:
        return seen(values[-1], view)
    found = patterns[pattern] if isinstance(pattern, int) else pattern()
    return None if found is None else Operand(found, values[-1], fill)


run: Callable[[Plan, list[Any], list[Any]], Operand | Tensor | None]
run = run_in_python if native is None else native.run_plan


def seen(tensor: Tensor, view: View | None) -> Tensor:
    """A tensor as a step sees it."""
    if view is None:
        return tensor
    detached, shape, strides, order = view
    if detached:
        tensor = tensor.detach()
    if shape is not None and strides is not None:
        tensor = tensor.as_strided(shape, strides)
    return tensor if order is None else contiguous(tensor, order)


Result = tuple[Tensor, "Pattern | None"]
"""A dense tensor and None, or the values of a sparse result and its pattern."""


class WholeProblem:
    """A problem, and which arguments or results of earlier steps it reads."""

    __slots__ = ("_compute", "_sources", "_variant")

    def __init__(self, compute: Any, sources: Sequence[Source]) -> None:
        """Keeps how the problem was computed, in which variant where it was prepared, and of what."""
        self._compute, self._sources = compute, sources
        self._variant = getattr(compute, "variant", None)

    def __call__(self, values: list[Any], patterns: list[Pattern | None]) -> bool:
        """Computes the problem and adds its result; False where it is to be prepared anew."""
        if self._variant is not getattr(self._compute, "variant", None):
            return False
        data, pattern = self._compute(operands(self._sources, values, patterns))
        values.append(data)
        patterns.append(pattern)
        return True


Source = tuple[int | None, int | None, View | None]
"""The number of the tensor with an operand's pattern, of the one with its values, and how these are seen."""


def operands(sources: Sequence[Source], values: list[Any], patterns: list[Pattern | None]) -> list[Operand]:
    """The operands of a problem, from the elements and patterns of arguments and earlier steps."""
    return [
        Operand(None if p is None else patterns[p], None if n is None else seen(values[n], view))
        for p, n, view in sources
    ]


def is_of_tensors(function: Any) -> bool:
    """Whether a function of tensors is the same for all patterns."""
    return type(function) is Permuted or function in _of_tensors


class Recipe(NamedTuple):
    """How a call is computed on patterns that are new: the problems that it came to on another one, prepared anew.

    Attributes:
        steps: What computes each, and its operands; or a function of tensors alone, of which the first part of a
            source is None. Arguments and results of steps are numbered, as in plans.
        place: The argument with the pattern of values, None of a dense result and of one with a pattern of its own.
        fill: The fill value of a sparse result, None of elements alone.
        view: How elements are seen.
    """

    steps: tuple[tuple[Any, tuple[Source, ...]], ...]
    place: int | None
    fill: Any
    view: View | None

    def has_extents(self) -> bool:
        """Whether something besides operands says of what shapes a problem is."""
        seen = [self.view, *[how for _, sources in self.steps for *_, how in sources]]
        problems = [getattr(compute, "problem", None) for compute, _ in self.steps]
        if any([getattr(compute, "has_extents", False) for compute, _ in self.steps]):
            return True
        return any([how is not None and how[1] is not None for how in seen]) or any(
            [isinstance(problem, Problem) and bool(problem.windows or problem.shape) for problem in problems]
        )

    def compute(self, values: Sequence[Any], patterns: Sequence[Pattern | None]) -> tuple[Tensor, Pattern | None]:
        """The elements and the pattern of the last step, which are noted where notes are taken."""
        numbered, known = [*values], [*patterns]
        for compute, sources in self.steps:
            if type(compute) is Anew:
                data, pattern = compute(operands(sources, numbered, known))
            elif is_of_tensors(compute):
                tensors = [o.data for o in operands(sources, numbered, known)]
                data, pattern = notes.apply(compute, *tensors), None
            else:
                data, pattern = notes.run(compute, operands(sources, numbered, known))
            numbered.append(data)
            known.append(pattern)
        return data, pattern


class Chain:
    """A computation in several steps, each a problem of its own, with temporaries in between."""

    __slots__ = ("_names", "_run", "_steps", "kernel")
    direct: Direct | None = None
    in_steps = True
    """Notes are taken of its steps, which run one by one."""

    def __init__(self, steps: kernel.Kernel, problem: Problem, run: Callable[..., Result]) -> None:
        """Turn the steps into problems, each of which `run` computes."""
        self.kernel, self._run = steps, run
        self._names = problem.names
        self._steps = [(step.result, of_step(step, problem, last=step is steps.steps[-1])) for step in steps.steps]

    def __call__(self, operands: Sequence[Operand]) -> Result:
        """Run every step; the result of the last one is the result."""
        return self.through(operands, self._run)

    def through(self, operands: Sequence[Operand], run: Callable[[Problem, Sequence[Operand]], Result]) -> Result:
        """The same, with every step run by `run`."""
        named = dict(zip(self._names, operands, strict=True))
        for result, part in self._steps:
            data, pattern = run(part, [named[name] for name in part.names])
            named[result] = Operand(pattern, data)
        return data, pattern
