"""Repeats: computations that come to the same steps whenever the name by which a pattern keeps them is the same.

Of some operations a call on a pattern that is new, as those of mini-batches are, comes to the problem of one on another
pattern of the same kind: of the same format, number of dimensions and blocks. Symbols stand for extents in a kind, the
same one for equal extents; 0 and 1 stand for themselves, since shapes broadcast by them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from libsparse._storage.pattern import Pattern

from . import steps
from .notes import Run, notes
from .problem import Operand
from .steps import Plan, Recipe

Known = bool | None
"""Whether steps were run; None where a computation has none, False before that is known."""

_KEPT = 128  # computations that a pattern keeps
_KINDS = 512  # of calls whose problems are kept
_SIZES = 64  # for which a kind keeps problems
_ADDRESSES = 3  # the place in a name of what describes tensors
_Operation = TypeVar("_Operation", bound=Callable[..., Any])
_by_kind: set[Any] = set()
_problems: dict[Any, _Kind] = {}

Alike = tuple[tuple[Any, ...], tuple[int, ...]]
"""A kind of calls, and the extents that its symbols stand for in one of them."""


def by_kind(operation: _Operation) -> _Operation:
    """Says of an operation that no more of patterns than their kinds decides which problem it comes to."""
    _by_kind.add(operation)
    return operation


def run(
    name: tuple[Any, ...],
    values: list[Any],
    patterns: list[Pattern | None],
    operation: Callable[[], Any],
    reads_all: bool,
    kind: Callable[[], Alike | None] | None = None,
) -> tuple[Any, Known]:
    """The result of an operation: by its steps where they are known, which are looked for in its second call.

    Args:
        name: What operations with the same steps have in common, besides the patterns that are not the first.
        values: The elements of its arguments, None where one has none; results of steps are added.
        patterns: Their patterns, None of dense ones; one at least is there. Those of steps are added.
        operation: It returns an operand or a tensor.
        reads_all: Whether an argument that no step reads has been read in another way.
        kind: The kind of all computations that come to the same problem on patterns of the same kinds, and the extents
            of this one; None where that can't be said.
    """
    home, *others = [pattern for pattern in patterns if pattern is not None]
    kept, count = home.repeated, len(values)
    known = kept.get(name, False)
    if known is None:
        return operation(), None
    if known:
        plan, refs = known
        if not refs or all(ref() is pattern for ref, pattern in zip(refs, others, strict=True)):
            try:
                result = steps.run(plan, values, patterns)
            except RuntimeError:  # said in its own words by the operation
                result = None
            if result is not None:
                return result, True
            del values[count:], patterns[count:]
    _drop(kept)
    alike = None if kind is None else kind()
    if known is False:  # many operations are the only one on their patterns, and noting them takes as long as some
        kept[name] = ()
        return operation() if alike is None else _like_others(alike, values, patterns, operation, reads_all), False
    found = None if alike is None else _planned(alike, values, patterns, reads_all)
    if found is None:
        from .reader import Reader

        reader = Reader(values, patterns, reads_all=reads_all)
        result, runs = _noted(operation)
        plan = reader.read(result, runs)
    else:
        result, plan = found
    kept[name] = None if plan is None else (plan, [weakref.ref(pattern) for pattern in others])
    return result, None if plan is None else True


def _drop(kept: dict[Any, Any]) -> None:
    """Drops computations on patterns that are gone, of whose results arrays are kept; where there are too many, others.

    Of many, which take time to look through, one call in 16 does it.
    """
    if len(kept) >= 16 and len(kept) % 16:
        return
    for name, known in list(kept.items()):
        if known and any(ref() is None for ref in known[1]):
            kept.pop(name, None)
    if len(kept) >= _KEPT:
        for name, known in list(kept.items()):
            if known == ():  # came only once
                kept.pop(name, None)
        if len(kept) >= _KEPT // 2:
            kept.clear()


def is_by_kind(operation: Any) -> bool:
    """Whether an operation is `by_kind`."""
    return operation in _by_kind


class Symbols:
    """Symbols of extents, in order of appearance."""

    __slots__ = ("_extents",)

    def __init__(self) -> None:
        """Begin with none."""
        self._extents: dict[int, int] = {}

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents, by their symbols."""
        return tuple(self._extents)

    def of(self, shape: Sequence[int]) -> list[int]:
        """A shape in symbols, which are negative."""
        known = self._extents
        return [n if n < 2 else ~known.setdefault(n, len(known)) for n in shape]

    def of_tensor(self, shape: Sequence[int], strides: Sequence[int]) -> list[int]:
        """The same with its strides, which are left out where they follow from the shape."""
        dense, expected = True, 1
        for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
            dense, expected = dense and stride == expected, expected * extent
        return self.of(shape) if dense else [*self.of(shape), *strides]

    def of_patterns(self, patterns: Sequence[Pattern | None]) -> tuple[dict[int, int], list[Any]]:
        """The number of each pattern by its address, and the kinds of the patterns by these numbers."""
        numbers: dict[int, int] = {}
        kinds: list[Any] = []
        for pattern in patterns:
            if pattern is not None and id(pattern) not in numbers:
                numbers[id(pattern)] = len(kinds)
                kinds += (pattern.format, tuple(self.of(pattern.shape)), pattern.block)
        return numbers, kinds


def kind_of_node(name: Sequence[Any], values: Sequence[Tensor | None], patterns: Sequence[Pattern | None]) -> Alike:
    """What a computation of a node of autograd's has in common with those on other patterns of the same kinds.

    `name` is three parts, the addresses of the patterns, and what each tensor is like.
    """
    symbols = Symbols()
    numbers, kinds = symbols.of_patterns(patterns)
    described: list[Any] = []
    for kind, tensor, pattern in zip(name[_ADDRESSES + len(patterns) :], values, patterns, strict=True):
        if tensor is None:
            described.append(kind)  # of no tensor, or of one before
        elif pattern is not None and tensor.shape == (pattern.size,):
            described.append(kind[0])
        else:
            described.append((kind[0], *symbols.of_tensor(tensor.shape, tensor.stride())))
    places = [None if p is None else numbers[id(p)] for p in patterns]
    return (*name[:_ADDRESSES], *places, *described, *kinds), symbols.extents


class _Kind:
    """The problems that calls of a kind come to: one for all extents, or one for each.

    Attributes:
        count: How many calls there have been whose problem was not known.
        problem: The recipe of all; None before it is known, and where there are several.
        extents: Those of the call in which it was found.
        varying: The symbols for which calls with other extents came to the same problem.
        others: The problems of other extents; () after one call, None where there is none.
    """

    __slots__ = ("count", "extents", "is_one", "others", "problem", "varying")

    def __init__(self) -> None:
        """Begin without a problem."""
        self.count, self.is_one = 0, True
        self.problem: Recipe | None = None
        self.extents: tuple[int, ...] = ()
        self.varying: frozenset[int] = frozenset()
        self.others: dict[tuple[int, ...], Any] = {}

    def known(self, extents: tuple[int, ...]) -> Any:
        """The problem of a call; None where it has none, False or () before that is known."""
        problem = self.problem  # another thread may drop it
        if problem is not None and (extents == self.extents or self._differing(extents) <= self.varying):
            return problem
        return self.others.get(extents, False)

    def is_looked_for(self, extents: tuple[int, ...]) -> bool:
        """Whether this call is the one that shows which problem it comes to."""
        self.count += 1
        if self.is_one:
            return self.count > 1  # many operations are the only one of their kind
        if extents in self.others:
            return True
        if len(self.others) >= _SIZES:
            self.others.clear()
        self.others[extents] = ()
        return False

    def add(self, extents: tuple[int, ...], problem: Any) -> None:
        """Takes the problem of a call, None where it has none."""
        if self.is_one and problem is not None and not problem.has_extents():
            if self.problem is None:
                self.extents, self.problem = extents, problem
                return
            if problem == self.problem:
                self.varying |= self._differing(extents)
                return
        if self.problem is not None:
            self.others[self.extents] = self.problem
        self.is_one, self.problem = False, None
        self.others[extents] = problem

    def _differing(self, extents: tuple[int, ...]) -> frozenset[int]:
        return frozenset([n for n, (a, b) in enumerate(zip(extents, self.extents, strict=True)) if a != b])


def _like_others(
    alike: Alike, values: list[Any], patterns: list[Pattern | None], operation: Callable[[], Any], reads_all: bool
) -> Any:
    """The result of an operation: by the problem of its kind where that is known, else it may be looked for."""
    name, extents = alike
    kind = _problems.get(name)
    if kind is None:
        if len(_problems) >= _KINDS:
            _problems.clear()
        kind = _problems.setdefault(name, _Kind())
    known = kind.known(extents)
    if known:
        try:
            result = _by_recipe(known, values, patterns)
        except RuntimeError:  # said in its own words by the operation
            result = None
        return operation() if result is None else result
    if known is None or not kind.is_looked_for(extents):
        return operation()
    from .reader import Reader  # with the first call that is looked at

    reader = Reader(values, patterns, reads_all=reads_all)
    result, runs = _noted(operation)
    kind.add(extents, reader.recipe(result, runs))
    return result


def _by_recipe(recipe: Recipe, values: list[Any], patterns: list[Pattern | None]) -> Any:
    """The result of a call by the recipe of its kind; None where it has another pattern than that says."""
    data, pattern = recipe.compute(values, patterns)
    if recipe.fill is not None:
        return Operand(pattern, data, recipe.fill)
    # Of other sizes the compiler may choose steps that leave a gradient on another pattern than its operand's.
    place = None if recipe.place is None else patterns[recipe.place]
    return steps.seen(data, recipe.view) if pattern is place else None


def _planned(
    alike: Alike, values: list[Any], patterns: list[Pattern | None], reads_all: bool
) -> tuple[Any, Plan | None] | None:
    """The result of an operation by the recipe of its kind, and its plan; None where the recipe isn't known."""
    from .reader import Reader, of_problem

    name, extents = alike
    kind = _problems.get(name)
    known = None if kind is None else kind.known(extents)
    if not known:
        return None
    reader = Reader(values, patterns, reads_all=reads_all)
    try:
        result, runs = _noted(lambda: _by_recipe(known, values, patterns))
    except RuntimeError:  # said in its own words by the operation
        return None
    if result is None:
        return None
    if len(known.steps) == 1 and len(runs) == 1 and type(runs[0].given[0]) is Operand:
        return result, of_problem(runs[0], known, values, patterns)
    return result, reader.read(result, runs)


def _noted(operation: Callable[[], Any]) -> tuple[Any, list[Run]]:
    """The result of an operation, and what it ran."""
    notes.runs = []
    try:
        if torch.is_inference_mode_enabled():  # whose tensors don't count how often they are written to
            with torch.inference_mode(False), torch.no_grad():
                result = operation()
        else:
            result = operation()
        return result, notes.runs
    finally:
        notes.runs = None
