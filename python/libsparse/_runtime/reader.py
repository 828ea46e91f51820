"""Reading plans: how the result of a call comes from its arguments, by what ran."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._storage import derived
from libsparse._storage.pattern import Pattern

from .call import Call
from .dispatch import Prepared
from .notes import Run, as_scalars, in_parts, unfollowed, version
from .problem import Computed, Operand
from .steps import (
    ELEMENTWISE,
    ELEMENTWISE_FUNCTIONS,
    FUNCTION,
    KERNEL,
    PROBLEM,
    Place,
    Plan,
    Recipe,
    Source,
    View,
    WholeProblem,
    is_of_tensors,
)

_MOST = 16  # steps of a call


def _view(seen: Tensor, source: Tensor, order: tuple[int, ...] | None = None) -> View | None:
    """How a tensor comes from one with the same first element.

    Args:
        seen: The tensor.
        source: The other one.
        order: The order of dimensions in which a kernel wants to read it, None for the one that it has.
    """
    detached = torch.is_grad_enabled() and source.requires_grad and not seen.requires_grad
    same = seen.shape == source.shape and seen.stride() == source.stride()
    copied = order is not None and not seen.permute(order).is_contiguous()
    if same and not copied:
        return (True, None, None, None) if detached else None
    shape, strides = (None, None) if same else (tuple(seen.shape), seen.stride())
    return detached, shape, strides, order if copied else None


class Reader:
    """Finds out how a result comes from the arguments of a call."""

    def __init__(self, values: Sequence[Any], patterns: Sequence[Pattern | None], *, reads_all: bool) -> None:
        """Begin with the elements and patterns of the arguments; results are numbered behind them.

        Args:
            values: The elements, None where an argument has none.
            patterns: The patterns, None of dense ones.
            reads_all: Whether an argument that no step reads has been read in another way.
        """
        self._first, self._given, self._values, self._patterns = len(values), [*values], [*values], [*patterns]
        self._reads_all, self._versions = reads_all, [version(value) for value in values]

    def read(self, result: Any, runs: list[Run]) -> Plan | None:
        """The plan from the arguments to a result; None where something else was done on the way."""
        wanted, runs = result if type(result) is Operand else Operand(None, result), in_parts(runs)
        if not runs:
            return self._only_pattern(wanted)
        if not 0 < len(runs) <= _MOST or type(wanted.data) is not Tensor or not _same(wanted.data, runs[-1].data):
            return None
        if self._versions != [version(value) for value in self._values] or any(map(unfollowed, runs)):
            return None
        first = self._first
        found = [self._sources(run) for run in runs]
        last = {id(run.data): run.version for run in runs}  # later ones may write to the results of earlier ones
        if any(run.version < 0 or version(run.data) != last[id(run.data)] for run in runs):
            return None
        needed = {first + len(runs) - 1}
        for number in range(first + len(runs) - 1, first - 1, -1):
            sources = found[number - first]
            if number in needed and sources is None:
                return None
            needed.update(n for n in sources or () if number in needed and n is not None)
        pattern = _number(wanted.pattern, self._patterns)
        valued = {n for n in range(first) if self._given[n] is not None}  # of a pattern everything is known
        if self._reads_all and not needed >= valued:
            return None
        needed.update(range(first))
        kept = None if pattern in needed else self._kept(wanted.pattern)
        if wanted.pattern is not None and pattern not in needed and kept is None:
            return None
        steps = self._steps(runs, found, sorted(needed))
        place: Place = kept if kept is not None or pattern is None else sorted(needed).index(pattern)
        return steps, place, wanted.fill, _view(wanted.values, runs[-1].data) if place is None else None

    def recipe(self, result: Any, runs: list[Run]) -> Recipe | None:
        """How a call like this is computed on other patterns; None where that isn't said by the problems that ran.

        So it is where a function was given numbers, which may be those of a pattern, or a view counts its entries.
        """
        wanted = result if type(result) is Operand else Operand(None, result)
        if not 0 < len(runs) <= _MOST or type(wanted.data) is not Tensor or not _same(wanted.data, runs[-1].data):
            return None
        steps = []
        read: set[int | None] = set()
        for run in runs:
            step, found = self._anew(run)
            if step is None:
                return None
            steps.append(step)
            read.update(found)
        last = {id(run.data): run.version for run in runs}
        written = any([run.version < 0 or version(run.data) != last[id(run.data)] for run in runs])
        if written or self._versions != [*map(version, self._given)]:
            return None
        patterns, run = self._patterns[: self._first], runs[-1]
        arguments = {_number(p, patterns) if self._given[n] is None else n for n, p in enumerate(patterns)}
        if self._reads_all and not read >= arguments:
            return None
        if type(result) is Operand and result.pattern is not None:
            return Recipe(tuple(steps), None, wanted.fill, None) if result.pattern is run.pattern else None
        place, view = _number(run.pattern, patterns), _view(wanted.values, run.data)
        counts = run.pattern is not None and view is not None and view[1] is not None
        return None if counts or (place is None) != (run.pattern is None) else Recipe(tuple(steps), place, None, view)

    def _anew(self, run: Run) -> tuple[tuple[Any, tuple[Source, ...]] | None, Sequence[int | None]]:
        """A step of a recipe, None where it is none, and the numbers of what it reads; adds its result."""
        there, found = [*self._values], self._sources(run)
        anew = getattr(run.function, "anew", None)
        if found is None or not (anew is not None or is_of_tensors(run.function)):
            return None, ()
        read = [None if n is None else there[n] for n in found[1::2]]
        if anew is not None:
            sources = _sources_of(run, found[::2], found[1::2], read)
        elif any([n is None for n in found[1::2]]):
            return None, ()
        else:
            given = zip(run.given, found[1::2], read, strict=True)
            sources = [(None, n, _view(x, _there(tensor))) for x, n, tensor in given]
        for _, n, how in sources:
            counts = n is not None and (n >= self._first or self._patterns[n] is not None)
            if counts and how is not None and how[1] is not None:
                return None, ()
        return (run.function if anew is None else anew(), tuple(sources)), found

    def _only_pattern(self, result: Operand) -> Plan | None:
        """The plan of a result with the values of the only argument, if there are any, and a pattern that is kept."""
        place = self._kept(result.pattern)
        alone = len(self._given) == 1 or not any([data is not None for data in self._given])
        if place is None or not alone or result.data is not self._given[-1]:
            return None
        return (), place, result.fill, None

    def _kept(self, pattern: Pattern | None) -> weakref.ref[Pattern] | None:
        """A pattern that depends on nothing but that of the first argument, which keeps it."""
        home = next((p for p in self._patterns if p is not None), None)
        if pattern is None or home is None:
            return None
        known = [*home.transposes.values(), *derived.patterns(home._kept), *(home._unions or {}).values()]
        if any(pattern is (kept() if isinstance(kept, weakref.ref) else kept) for kept in known):
            return weakref.ref(pattern)
        return None

    def _sources(self, run: Run) -> list[int | None] | None:
        """The numbers of what a step reads, patterns before values, None for something else; adds its result."""
        found: list[int | None] | None = []
        for given in run.given:
            pattern, data = (
                given[:2] if type(given) is Operand else (None, given if isinstance(given, Tensor) else None)
            )
            numbers = _number(pattern, self._patterns), self._place(data)
            unknown = (pattern is not None and numbers[0] is None) or (data is not None and numbers[1] is None)
            found = None if found is None or unknown else [*found, *numbers]
        for number, value in enumerate(self._values):
            if value is run.data:
                self._values[number] = None  # written to
        self._values.append(run.data)
        self._patterns.append(run.pattern)
        return found

    def _place(self, data: Tensor | None) -> int | None:
        """Which argument or result a tensor is, or has its elements; None where none has, or several others have.

        Of several arguments in the same memory, as `P` and `P.T`, another call may get tensors that share none.
        """
        if data is None or not data.numel():
            return None
        itself = next((number for number, value in enumerate(self._values) if value is data), None)
        if itself is not None:
            return itself
        found = [
            number
            for number, value in enumerate(self._values)
            if value is not None and value.dtype is data.dtype and value.data_ptr() == data.data_ptr()
        ]
        return found[0] if len(found) == 1 else None

    def _steps(self, runs: list[Run], found: list[Any], needed: list[int]) -> tuple[Any, ...]:
        """The steps that are needed, in which what they read is numbered anew."""
        numbers: dict[int | None, int | None] = {None: None, **{old: new for new, old in enumerate(needed)}}
        sources = [*self._given, *(run.data for run in runs)]
        steps: list[Any] = []
        for number in needed[self._first :]:
            run, old = runs[number - self._first], found[number - self._first]
            new = [numbers[n] for n in old]
            read = [None if n is None else sources[n] for n in old[1::2]]
            alone = isinstance(run.function, Computed) and all([o.data is None for o in run.given])
            if alone:  # what belongs to patterns stays the same
                steps.append((FUNCTION, functools.partial(_itself, run.data), ()))
            elif run.given and type(run.given[0]) is Operand:
                steps.append(_problem(run, new[::2], new[1::2], read))
            else:
                given = zip(as_scalars(run.function, run.given), new[1::2], read, strict=True)
                pairs = tuple((-1, x) if n is None else (n, _view(x, _there(t))) for x, n, t in given)
                kind = ELEMENTWISE if run.function in ELEMENTWISE_FUNCTIONS else FUNCTION
                steps.append((kind, run.function, pairs))
        return tuple(steps)


def of_problem(run: Run, recipe: Recipe, values: Sequence[Any], patterns: Sequence[Pattern | None]) -> Plan:
    """The plan of a call that was computed by a recipe of a single problem.

    Args:
        run: The problem as it was run.
        recipe: What it was run by.
        values: The elements of the arguments.
        patterns: Their patterns.
    """
    ((_, sources),) = recipe.steps
    read = [None if n is None else values[n] for _, n, _ in sources]
    step = _problem(run, [p for p, *_ in sources], [n for _, n, _ in sources], read)
    if recipe.fill is None:
        return (step,), None, 0, recipe.view
    return (step,), _number(run.pattern, [*patterns, run.pattern]), recipe.fill, None


def _problem(
    run: Run, patterns: list[int | None], values: list[int | None], sources: Sequence[Tensor | None]
) -> tuple[Any, ...]:
    """The step that computes a problem in the shortest way that there is.

    Args:
        run: The problem as it was run.
        patterns: The number of the tensor with the pattern of each operand.
        values: The number of the tensor with its values.
        sources: That tensor.
    """
    prepared, given = run.function, run.given
    variant = prepared.variant if isinstance(prepared, Prepared) else None
    if isinstance(variant, Call):
        wanted = prepared.problem.output_format
        writable = wanted is None or wanted.writable == wanted
        shared = next((p for p, o in zip(patterns, given, strict=True) if o.pattern is run.pattern), None)
        kept = run.pattern if run.pattern is variant.result_pattern else None
        known = run.pattern is None or shared is not None or kept is not None
        found = variant.direct_on(given) if known and writable else None
        if found is not None:
            direct, read, orders = found
            reads = tuple((values[n], _view(given[n].values, _there(sources[n]), orders[n])) for n in read)
            return KERNEL, prepared, variant, direct, reads, kept if shared is None else shared
    return PROBLEM, WholeProblem(prepared, _sources_of(run, patterns, values, sources))


def _sources_of(
    run: Run, patterns: Sequence[int | None], values: Sequence[int | None], sources: Sequence[Tensor | None]
) -> list[Source]:
    """What the operands of a problem are, by the arguments of `_problem`."""
    views = [None if o.data is None else _view(o.data, _there(t)) for o, t in zip(run.given, sources, strict=True)]
    return [*zip(patterns, values, views, strict=True)]


def _itself(data: Tensor) -> Tensor:
    return data


def _there(source: Tensor | None) -> Tensor:
    assert source is not None  # of an operand with values
    return source


def _same(first: Tensor, second: Any) -> bool:
    """Whether two tensors have the same elements in memory."""
    return first is second or (
        isinstance(second, Tensor) and first.data_ptr() == second.data_ptr() and first.numel() == second.numel() > 0
    )


def _number(pattern: Pattern | None, patterns: list[Pattern | None]) -> int | None:
    """Which of some patterns one is."""
    return None if pattern is None else next((n for n, p in enumerate(patterns) if p is pattern), None)
