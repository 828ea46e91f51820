"""Running problems: each is prepared for given patterns and shapes, and the first pattern keeps it."""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from libsparse._compiler import kernel
from libsparse._lang.errors import DivisionByZeroError, FormatError, UnsupportedError
from libsparse._storage import ordinary
from libsparse._storage.derived import is_first
from libsparse._storage.fakes import refuse_jit_trace
from libsparse._storage.pattern import Pattern

from . import discovery, likes, notes, tally
from .arrays import in_output_format
from .call import Call
from .problem import Anew, Operand, Problem, key
from .requests import is_few, is_tuned, of_classes, signature, to_request
from .status import BoundError, IndexOverflowError, by_zero, too_large, too_many
from .steps import Chain, Result

if TYPE_CHECKING:
    from .first_uses import Settling
    from .lasting import Trial
    from .panels import Panels

_profiled = torch._C._autograd._profiler_enabled
_REREAD = 8  # calls that read values in another order than theirs, which take as much longer as it takes to copy them
_MANY = 1 << 15  # entries from which on that is longer than what a trial itself takes
_PREPARED_KEPT = 256  # for each pattern

watcher: Callable[[Prepared, Sequence[Operand]], None] | None = None
"""Is told of each problem that is computed while torch's profiler runs, during which nothing takes a shorter way."""

Variant: TypeAlias = "Call | Chain | Panels | Settling | Trial"


class Prepared:
    """A problem on given patterns and shapes, and the variant that computes it now.

    A variant is one way to compute the problem: a kernel with the formats that it reads, or steps of several. Whoever
    computes reads `variant` once. So any thread may replace it at any time, without a lock: variants don't change.

    Attributes:
        problem: The problem.
        variant: The way to compute it.
        dtype: The dtype of the two operands that `variant.direct` takes, where a short cut leads here.
        pattern: A weak reference to the first pattern among its operands, None where there is none.
    """

    __slots__ = ("__weakref__", "dtype", "pattern", "problem", "variant")

    def __init__(
        self, problem: Problem, operands: Sequence[Operand], found: Call | None = None, *, used: bool = False
    ) -> None:
        """Begin with the variant that was found, else as the compiler chooses or the problem's schedule describes.

        `used` says whether the problem was computed on these patterns before, without this.
        """
        self.problem = problem
        self.dtype: Any = None
        first = next((o.pattern for o in operands if o.pattern is not None), None)
        self.pattern = None if first is None else weakref.ref(first)
        if found is None and is_few(problem, operands):
            few = build(problem, operands, few=True)
            if isinstance(few, Call) and not few.is_relaid and not few.reads:
                from . import first_uses  # few problems have first uses of their own

                self.variant: Variant = few
                first_uses.begin(self, few, used)
                return
        self.settle(operands, found)

    def settle(self, operands: Sequence[Operand], found: Call | Chain | None = None) -> None:
        """Computes from now on as is best where calls with the pattern come again and again."""
        problem, first = self.problem, None if self.pattern is None else self.pattern()
        self.variant = found = found or build(problem, operands)
        if isinstance(found, Call) and found.is_relaid:
            from . import panels  # few results are

            self.variant = panels.divided(found, problem, operands, build)
        if first is not None and not problem.schedule:
            rereads = isinstance(found, Call) and found.reads and len(problem.output) > 1 and first.size >= _MANY
            self.expect(_REREAD if rereads else tally.REPEATED)

    def know(self, pattern: Pattern) -> None:
        """Takes the pattern of the result that was found before this was prepared."""
        call = self.variant
        found = discovery.arrays_of(call.kernel, pattern) if isinstance(call, Call) and call.finds else None
        if isinstance(call, Call) and found is not None:
            call.know(pattern, *found)

    def expect(self, calls: int) -> None:
        """Looks, after so many calls of the present variant, whether others with the same values could be faster."""
        variant = self.variant
        if isinstance(variant, Call) and variant.plain is None and variant.is_dense:
            variant.tally.told = functools.partial(_repeated, weakref.ref(self), calls)
            variant.tally.waits = calls

    @property
    def kernel(self) -> kernel.Kernel:
        """The kernel of the variant."""
        return self.variant.kernel

    def replace(self, variant: Variant) -> None:
        """Computes with another variant of the problem from the next call on."""
        self.variant = variant

    def anew(self) -> Anew:
        """What computes the problem with operands of other patterns."""
        return Anew(run, self.problem)

    def __call__(self, operands: Sequence[Operand]) -> Result:
        """Computes with operands of the patterns, shapes, strides and dtypes that this was prepared for."""
        return compute(self.problem, operands, self.variant, self.replace)


def compute(
    problem: Problem,
    operands: Sequence[Operand],
    variant: Variant | None = None,
    replace: Callable[[Variant], None] | None = None,
) -> Result:
    """Computes a problem.

    Args:
        problem: The problem.
        operands: Its operands.
        variant: The way to compute it; None for the one that the compiler chooses, which nobody keeps.
        replace: Is told of another way where that one doesn't do.
    """
    try:
        result = _computed(problem, operands, build(problem, operands) if variant is None else variant, replace)
    except DivisionByZeroError as error:
        raise error if str(error) else by_zero(problem) from None
    except MemoryError as error:
        raise too_large(problem, operands, error) from None
    except IndexOverflowError:
        raise too_many(problem) from None
    return in_output_format(problem, *result)


def _computed(
    problem: Problem,
    operands: Sequence[Operand],
    variant: Variant,
    replace: Callable[[Variant], None] | None,
) -> Result:
    """Patterns don't change, so where narrow indices or bounds won't do, they never will."""
    wide = counted = False
    while True:
        try:
            return variant(operands)
        except IndexOverflowError:
            if wide:
                raise
            wide = True
        except BoundError:
            counted = True
        variant = build(problem, operands, wide=wide, counted=counted)
        if replace is not None:
            replace(variant)


def _repeated(reference: weakref.ref[Prepared], calls: int) -> None:
    """A problem has been computed so many times in one way."""
    prepared = reference()
    if prepared is not None:
        from . import lasting  # few problems are computed often

        lasting.begin(prepared, build, calls)


def run(problem: Problem, operands: Sequence[Operand]) -> Result:
    """Computes a problem, prepared or as the first pattern keeps it; torch's profiler sees it by its text.

    Raises:
        UnsupportedError: `torch.jit.trace` is under way.
    """
    refuse_jit_trace()
    if ordinary.in_transform() is not None:  # of other tensors than the operands: its results have no memory
        with ordinary.outside_transforms():
            return run(problem, operands)
    if _profiled():
        with torch.profiler.record_function(f"libsparse::{problem.text}"):
            prepared = prepare(problem, operands)
            if watcher is not None:
                watcher(prepared, operands)
            return prepared(operands)
    kept = _kept(name := key(problem, operands), [o.pattern for o in operands if o.pattern is not None])
    if kept is None and notes.notes.runs is None and (found := _at_first(problem, operands, name)) is not None:
        return found
    return notes.run(prepare(problem, operands) if kept is None else kept, operands)


def _kept(name: tuple[Any, ...], patterns: Sequence[Pattern]) -> Prepared | None:
    """What the first of the patterns keeps by the key of a problem, if it is of these patterns."""
    entry: tuple[Prepared, list[weakref.ref[Pattern]]] | None = patterns[0].calls.get(name) if patterns else None
    return entry[0] if entry and all([ref() is p for ref, p in zip(entry[1], patterns[1:], strict=True)]) else None


def prepare(
    problem: Problem, operands: Sequence[Operand], found: Call | None = None, *, used: bool = False
) -> Prepared:
    """A problem prepared on operands, to begin with what was found; the first pattern keeps it, or the process.

    `used` says whether it was computed on these patterns before, where they don't know that themselves.
    """
    name, patterns = key(problem, operands), [o.pattern for o in operands if o.pattern is not None]
    if not patterns:  # as of a step that computes a function of a dense operand
        alone = (Operand, *name)
        dense = kernel.prepared.get(alone) or Prepared(problem, operands)  # for which `build` makes room
        return kernel.prepared.setdefault(alone, dense)  # type: ignore[no-any-return]
    if (prepared := _kept(name, patterns)) is not None:
        return prepared
    earlier = patterns[0].begun.get(("problem", name))
    kept, prepared = patterns[0].calls, Prepared(problem, operands, found, used=used or earlier is not None)
    if earlier and (pattern := earlier[0]()) is not None and earlier == _together(pattern, operands):
        prepared.know(pattern)
    for old, (_, refs) in list(kept.items()):
        if len(kept) >= _PREPARED_KEPT or any(ref() is None for ref in refs):
            kept.pop(old, None)
    kept[name] = prepared, [weakref.ref(p) for p in patterns[1:]]
    tally.recent.append((weakref.ref(patterns[0]), name))
    return prepared


def build(
    problem: Problem,
    operands: Sequence[Operand],
    *,
    wide: bool = False,
    counted: bool = False,
    few: bool = False,
    measured: bool = True,
) -> Call | Chain:
    """The variant that the compiler answers a problem with, or one that was found to be faster.

    Args:
        problem: The computation; its schedule, if it has one, is followed.
        operands: Its operands.
        wide: Whether positions and coordinates of the result must be int64.
        counted: Whether entries of the result must be counted before they are written.
        few: Whether that is to be as is best where calls with the pattern are few.
        measured: Whether it may be one that was found by measuring.
    """
    # The first call of a process has nothing to look up.
    name = signature(problem, operands, wide=wide, counted=counted, few=few) if kernel.has_any() else None
    if measured and not (problem.schedule or wide or counted) and is_tuned(problem, operands, name):
        from . import tuned  # few programs have been tuned

        if (commands := tuned.schedule(problem, operands)) is not None:
            try:
                return build(problem._replace(schedule=commands), operands)
            except (UnsupportedError, FormatError):  # it is not what `tune` has written
                pass
    known: Call | None = None if name is None else kernel.prepared.get(name)
    if known is not None:
        return known.anew()
    extents = problem.extents(operands)
    if name is not None and (known := likes.of_like_shapes(name, problem, operands, extents)) is not None:
        return known
    found = kernel.find(to_request(problem, operands, wide=wide, counted=counted, few=few, extents=extents))
    if found.steps:
        return Chain(found, problem, run)
    call = Call(found, problem, operands, extents)
    if found.carried:
        plain = build(problem._replace(schedule=""), operands, measured=False)
        if not isinstance(plain, Call):  # the compiler would take several steps
            schedule = re.sub(r",\s*values\s*\)", ")", problem.schedule)
            plain = build(problem._replace(schedule=schedule), operands, measured=False)
        assert isinstance(plain, Call)  # what has a schedule is one kernel
        from libsparse._storage.carried import carried  # few programs have been tuned

        kept = {number: carried(operands[number].sparsity, found.convert[number]) for number in found.carried}
        return call.in_place_of(plain, kept)  # and not kept for other patterns, which have values of their own
    if name is not None:
        likes.keep(name, call)
        kernel.prepared[of_classes(name, problem, operands, extents)] = call.anew()
    return call


def _together(result: Pattern, operands: Sequence[Operand]) -> tuple[weakref.ref[Pattern], ...]:
    """References to the pattern of a result and those of its operands; equal only where all of these are alive."""
    return weakref.ref(result), *[weakref.ref(o.pattern) for o in operands if o.pattern is not None]


def _at_first(problem: Problem, operands: Sequence[Operand], name: tuple[Any, ...]) -> Result | None:
    """A result of a pattern that may never come back, so that little is kept; None where it has, or needs more."""
    pattern = next((o.pattern for o in operands if o.pattern is not None), None)
    if pattern is None or name in pattern.calls or not is_first(pattern.begun, ("problem", name)):
        return None
    try:
        if (found := likes.bound(problem, operands)) is not None:
            about, made = found
            data, seen = about.result(made, operands)
            # The next computation on the same operands has the same pattern, and is not the first.
            pattern.begun["problem", name] = () if about.finder is None else _together(seen, operands)
            return data, seen
        like = likes.once(problem, operands)
        short = None if like is None or like.finds else like.direct_on(operands)
        if like is not None and short is not None:
            result = like.through(short, operands)
            pattern.begun["problem", name] = ()
            return result
    except (RuntimeError, MemoryError, BoundError, IndexOverflowError):
        # It is computed as later ones are: entries are counted, or numbered in 64 bits, and errors name their cause.
        return None
    # To find a pattern takes longer than to keep what is found.
    return None if like is None or not like.finds else prepare(problem, operands, like.anew())(operands)
