"""Plans: the prepared problems and functions that a call came to, run again on other elements."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._storage import derived, threads
from libsparse._storage.pattern import Pattern

from .call import Call
from .direct import native
from .dispatch import Prepared
from .layout import contiguous
from .notes import Run, as_scalars, in_parts, unfollowed, version
from .problem import Operand

_MOST = 16  # steps of a call
_NAMES = "add sub mul div neg abs relu sqrt square sign exp log sin cos tanh sigmoid expm1 log1p pow"
_ELEMENTWISE = frozenset(getattr(place, name) for name in _NAMES.split() for place in (torch, Tensor))
"""Functions that write their results to new arrays, in order and with the signs that they have."""

View = tuple[bool, tuple[int, ...] | None, tuple[int, ...] | None, tuple[int, ...] | None]
"""How a step sees a tensor: whether detached from autograd, in which other shape and strides, copied in which order."""

Place = int | weakref.ref[Pattern] | None
"""The pattern of a result: the number of one, a reference to one that another keeps, None of a dense result."""

Plan = tuple[tuple[Any, ...], Place, Any, View | None]
"""Steps; the pattern of the result; its fill value; how a dense result is seen.

Each step is a tuple of a kind and what belongs to that; arguments and results of steps are numbered, and each step adds
its own. `repeat.c` runs plans, and the functions below where there is no C compiler.
"""

KERNEL, FUNCTION, PROBLEM, ELEMENTWISE = range(4)  # kinds of steps; the last is a function of `_ELEMENTWISE`


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


class _Problem:
    """A problem, and which arguments or results of earlier steps it reads."""

    __slots__ = ("_compute", "_sources", "_variant")

    def __init__(self, compute: Any, sources: Sequence[_Source]) -> None:
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


_Source = tuple[int | None, int | None, View | None]
"""The number of the tensor with an operand's pattern, of the one with its values, and how these are seen."""


def operands(sources: Sequence[_Source], values: list[Any], patterns: list[Pattern | None]) -> list[Operand]:
    """The operands of a problem, from the elements and patterns of arguments and earlier steps."""
    return [
        Operand(None if p is None else patterns[p], None if n is None else seen(values[n], view))
        for p, n, view in sources
    ]


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

    def problem(self, result: Any, runs: list[Run]) -> tuple[Any, list[_Source], int | None, Any, View | None] | None:
        """What computes a call on other patterns, of which arguments, and which one has the pattern of its values.

        Then its fill value and view. None for several problems, and where a view counts the entries of a pattern.
        """
        sparse = type(result) is Operand and result.pattern is not None
        wanted = result if type(result) is Operand else Operand(None, result)
        anew = getattr(runs[0].function, "anew", None) if len(runs) == 1 else None
        if anew is None or type(wanted.data) is not Tensor:
            return None
        patterns = self._patterns[: self._first]
        run, found = runs[0], self._sources(runs[0])
        read = {_number(p, patterns) if self._given[n] is None else n for n, p in enumerate(patterns)}
        if found is None or (self._reads_all and not {*found} >= read):
            return None
        place = None if sparse else _number(run.pattern, patterns)
        known = wanted.pattern is run.pattern if sparse else (place is None) == (run.pattern is None)
        if not known or not _same(wanted.data, run.data) or self._versions != [*map(version, self._given)]:
            return None
        given = [None if n is None else self._given[n] for n in found[1::2]]
        sources = _sources_of(run, found[::2], found[1::2], given)
        view = None if sparse else _view(wanted.values, run.data)
        views = [how for _, n, how in sources if n is not None and self._patterns[n] is not None]
        if any(how is not None and how[1] is not None for how in (*views, *[view] * (run.pattern is not None))):
            return None
        return anew(), sources, place, wanted.fill if sparse else None, view

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
            if run.given and type(run.given[0]) is Operand:
                steps.append(_problem(run, new[::2], new[1::2], read))
            else:
                given = zip(as_scalars(run.function, run.given), new[1::2], read, strict=True)
                pairs = tuple((-1, x) if n is None else (n, _view(x, _there(t))) for x, n, t in given)
                kind = ELEMENTWISE if run.function in _ELEMENTWISE else FUNCTION
                steps.append((kind, run.function, pairs))
        return tuple(steps)


def of_problem(
    run: Run,
    sources: Sequence[_Source],
    values: Sequence[Any],
    patterns: Sequence[Pattern | None],
    fill: Any,
    view: View | None,
) -> Plan:
    """The plan of a single problem that computes what arguments have to do with their result.

    Args:
        run: The problem as it was run.
        sources: What it read.
        values: The elements of the arguments.
        patterns: Their patterns.
        fill: The fill value of a sparse result, None of a dense one.
        view: How a dense result is seen.
    """
    read = [None if n is None else values[n] for _, n, _ in sources]
    step = _problem(run, [p for p, *_ in sources], [n for _, n, _ in sources], read)
    if fill is None:
        return (step,), None, 0, view
    return (step,), _number(run.pattern, [*patterns, run.pattern]), fill, None


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
    return PROBLEM, _Problem(prepared, _sources_of(run, patterns, values, sources))


def _sources_of(
    run: Run, patterns: Sequence[int | None], values: Sequence[int | None], sources: Sequence[Tensor | None]
) -> list[_Source]:
    """What the operands of a problem are, by the arguments of `_problem`."""
    views = [None if o.data is None else _view(o.data, _there(t)) for o, t in zip(run.given, sources, strict=True)]
    return [*zip(patterns, values, views, strict=True)]


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
