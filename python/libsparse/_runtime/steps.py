"""Steps: the prepared problems and functions that a call came to, run again on other elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._compiler import threads
from libsparse._storage.pattern import Pattern

from .call import Call
from .direct import Direct
from .dispatch import Prepared
from .notes import Run
from .problem import Operand

_MOST = 16  # steps of a call


class _Followed:
    """A problem that autograd follows, and which arguments or results of earlier steps it reads."""

    __slots__ = ("_compute", "_sources", "_views")

    def __init__(self, run: Run, sources: list[tuple[int | None, int | None]]) -> None:
        """Keeps how the problem was computed.

        Args:
            run: The problem as it was run.
            sources: For each operand the number of the tensor with its pattern, and of the one with its values; None
                for what it doesn't have.
        """
        self._compute, self._sources = run.function, sources
        self._views = [None if o.data is None else _View(o.data) for o in run.given]

    def __call__(self, values: list[Any], patterns: list[Pattern | None]) -> bool:
        """Computes the problem and adds its result; False where it is to be prepared anew."""
        operands = [
            Operand(None if p is None else patterns[p], None if n is None or view is None else view.of(values[n]))
            for (p, n), view in zip(self._sources, self._views, strict=True)
        ]
        data, pattern = self._compute(operands)
        values.append(data)
        patterns.append(pattern)
        return True


class _Problem(_Followed):
    """A prepared problem that autograd doesn't follow, run in the shortest way that there is."""

    __slots__ = ("_direct", "_read", "_result", "_shared", "_variant")

    def __init__(self, run: Run, sources: list[tuple[int | None, int | None]]) -> None:
        """Finds the shortest way to run a problem again."""
        super().__init__(run, sources)
        variant, operands = run.function.variant, run.given
        self._variant, wanted = variant, run.function.problem.output_format
        writable = wanted is None or wanted.writable == wanted
        self._shared = next((p for (p, _), o in zip(sources, operands, strict=True) if o.pattern is run.pattern), None)
        self._result = run.pattern if isinstance(variant, Call) and run.pattern is variant.result_pattern else None
        known = run.pattern is None or self._shared is not None or self._result is not None
        found: Any = variant.direct_on(operands) if known and writable and isinstance(variant, Call) else None
        self._direct: Direct | None
        self._direct, numbers, orders = found or (None, [], [])
        self._read = [
            (sources[n][1], None if orders[n] is None else _View(operands[n].values, orders[n])) for n in numbers
        ]

    def __call__(self, values: list[Any], patterns: list[Pattern | None]) -> bool:
        """Runs the problem and adds its result; False where it is to be prepared anew."""
        if self._compute.variant is not self._variant:
            return False
        if self._direct is not None:
            taken = [values[n] if view is None else view.copied(values[n]) for n, view in self._read]
            values.append(self._direct(*taken, threads.count()))
            patterns.append(self._result if self._shared is None else patterns[self._shared])
            return True
        return super().__call__(values, patterns)


class _Function:
    """A function that is applied to arguments or results of earlier steps."""

    __slots__ = ("_function", "_given")

    def __init__(self, run: Run, sources: list[int | None]) -> None:
        """Keeps numbers as they are, and how tensors see the elements that they stand for."""
        self._function = run.function
        self._given = [(None, x) if n is None else (n, _View(x)) for n, x in zip(sources, run.given, strict=True)]

    def __call__(self, values: list[Any], patterns: list[Pattern | None]) -> bool:
        """Applies the function and adds its result."""
        values.append(self._function(*[x if n is None else x.of(values[n]) for n, x in self._given]))
        patterns.append(None)
        return True


class _View:
    """How an operand sees the elements of an argument, which has the same first element, and whether autograd does."""

    __slots__ = ("_copied", "_detached", "_order", "_shape", "_strides")

    def __init__(self, data: Tensor, order: tuple[int, ...] | None = None) -> None:
        """Notes the shape and strides of an operand, and the order of dimensions in which a kernel wants to read it."""
        self._shape, self._strides, self._order = data.shape, data.stride(), order
        self._detached = torch.is_grad_enabled() and not data.requires_grad
        self._copied = order is not None and not data.permute(order).is_contiguous()

    def of(self, value: Tensor) -> Tensor:
        """The operand."""
        if self._detached and value.requires_grad:
            value = value.detach()
        same = value.shape == self._shape and value.stride() == self._strides
        return value if same else value.as_strided(self._shape, self._strides)

    def copied(self, value: Tensor) -> Tensor:
        """The elements as the kernel reads them, which takes them by their address alone."""
        return self.of(value).permute(self._order).contiguous() if self._copied else value  # type: ignore[arg-type]


_Step = _Problem | _Followed | _Function


class Steps:
    """What a call comes to, from the elements and patterns of its arguments to its result."""

    __slots__ = ("_fill", "_pattern", "_steps", "_view")

    def __init__(self, steps: Sequence[_Step], result: Operand, pattern: int | None) -> None:
        """Keeps steps of which the last one has the result.

        Args:
            steps: The steps.
            result: The result of the call.
            pattern: The number of the argument or step that has the result's pattern; None for a dense result.
        """
        self._steps, self._pattern, self._fill = steps, pattern, result.fill
        self._view = _View(result.values)

    def __call__(self, values: list[Any], patterns: list[Pattern | None]) -> Operand | None:
        """The result of a call with arguments of these elements and patterns; None where it has to be found anew."""
        for step in self._steps:
            if not step(values, patterns):
                return None
        if self._pattern is None:
            return Operand(None, self._view.of(values[-1]))
        return Operand(patterns[self._pattern], values[-1], self._fill)


class Reader:
    """Finds out how a result comes from the arguments of a call."""

    def __init__(self, values: Sequence[Any], patterns: Sequence[Pattern | None], *, reads_all: bool) -> None:
        """Begin with the elements and patterns of the arguments; results are numbered behind them.

        Args:
            values: The elements, None where an argument has none.
            patterns: The patterns, None of dense ones.
            reads_all: Whether an argument that no step reads has been read in another way.
        """
        self._first, self._values, self._patterns = len(values), [*values], [*patterns]
        self._reads_all = reads_all
        self._versions = [_version(value) for value in values]

    def read(self, result: Any, runs: list[Run]) -> Steps | None:
        """The steps from the arguments to a result; None where something else was done on the way."""
        wanted = result if type(result) is Operand else Operand(None, result)
        if not 0 < len(runs) <= _MOST or type(wanted.data) is not Tensor or not _same(wanted.data, runs[-1].data):
            return None
        if self._versions != [_version(value) for value in self._values] or any(map(_unfollowed, runs)):
            return None
        first = self._first
        found = [self._sources(run) for run in runs]
        last = {id(run.data): run.version for run in runs}  # later ones may write to the results of earlier ones
        if any(run.version < 0 or _version(run.data) != last[id(run.data)] for run in runs):
            return None
        needed = {first + len(runs) - 1}
        for number in range(first + len(runs) - 1, first - 1, -1):
            sources = found[number - first]
            if number in needed and sources is None:
                return None
            needed.update(n for n in sources or () if number in needed and n is not None)
        pattern = _number(wanted.pattern, self._patterns)
        if self._reads_all and not needed.issuperset(range(first)):
            return None
        needed.update(range(first))
        if wanted.pattern is not None and pattern not in needed:
            return None
        return Steps(
            self._steps(runs, found, sorted(needed)), wanted, None if pattern is None else sorted(needed).index(pattern)
        )

    def _sources(self, run: Run) -> list[int | None] | None:
        """The numbers of what a step reads, patterns before values, None for something else; adds its result."""
        found: list[int | None] | None = []
        for given in run.given:
            pattern, data = (
                given[:2] if type(given) is Operand else (None, given if isinstance(given, Tensor) else None)
            )
            numbers = _number(pattern, self._patterns), self._place(data)
            if (
                found is None
                or (pattern is not None and numbers[0] is None)
                or (data is not None and numbers[1] is None)
            ):
                found = None
            else:
                found += numbers
        for number, value in enumerate(self._values):
            if value is run.data:
                self._values[number] = None  # written to
        self._values.append(run.data)
        self._patterns.append(run.pattern)
        return found

    def _place(self, data: Tensor | None) -> int | None:
        """Which argument or result has the elements that a tensor is; None where none has, or several have."""
        if data is None or not data.numel():
            return None
        found = [
            number
            for number, value in enumerate(self._values)
            if value is not None and value.dtype is data.dtype and value.data_ptr() == data.data_ptr()
        ]
        return found[0] if len(found) == 1 else None

    def _steps(self, runs: list[Run], found: list[Any], needed: list[int]) -> list[_Step]:
        """The steps that are needed, in which what they read is numbered anew."""
        numbers: dict[int | None, int | None] = {None: None, **{old: new for new, old in enumerate(needed)}}
        steps: list[_Step] = []
        for number in needed[self._first :]:
            run, sources = runs[number - self._first], [numbers[n] for n in found[number - self._first]]
            if run.given and type(run.given[0]) is Operand:
                kind = _Problem if isinstance(run.function, Prepared) else _Followed
                steps.append(kind(run, [*zip(sources[::2], sources[1::2], strict=True)]))
            else:
                steps.append(_Function(run, sources[1::2]))
        return steps


def _unfollowed(run: Run) -> bool:
    """Whether a function was applied without autograd to a tensor that autograd follows."""
    followed = any(isinstance(x, Tensor) and x.requires_grad for x in run.given) and torch.is_grad_enabled()
    return followed and not run.data.requires_grad


def _same(first: Tensor, second: Any) -> bool:
    """Whether two tensors have the same elements in memory."""
    return first is second or (
        isinstance(second, Tensor) and first.data_ptr() == second.data_ptr() and first.numel() == second.numel() > 0
    )


def _version(value: Tensor | None) -> int:
    """How often a tensor has been written to; inference tensors don't count."""
    return 0 if value is None or value.is_inference() else value._version


def _number(pattern: Pattern | None, patterns: list[Pattern | None]) -> int | None:
    """Which of some patterns one is."""
    return None if pattern is None else next((n for n, p in enumerate(patterns) if p is pattern), None)
