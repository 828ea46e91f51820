"""Baselines of tuning, as WACO has them: loops in the order of storage, in CSR and in the best of several formats.

Won et al., "WACO: Learning Workload-Aware Co-optimization of the Format and Schedule of a Sparse Tensor Program", 5.1:
fixed CSR is TACO's loop nest, whose first loop is divided among threads; who tunes formats alone takes the fastest
format with that nest. Both are compiled and run as all other kernels are, with vectors for the dense innermost loop.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from libsparse._runtime.call import Call
from libsparse._storage import threads
from libsparse._tools.trials import Subject

import libsparse as ls

_FORMATS = ("csr", "csc", "dcsr", "ell", "sell(8)", "sell(32,4096)", "bsr(2,2)", "bsr(4,4)", "bsr(8,8)")  # of matrices
_PADDED = 3  # places for each entry at most


def times(subject: Subject) -> dict[str, float]:
    """Times of the compiler's schedule over those of a fixed one in CSR (or CSF), and in the best format."""
    found = [_variant(subject, format) for format in _formats(subject)]
    variants = [variant for variant in found if variant is not None]
    *others, own = [statistics.median(taken) for taken in subject.compare(variants)]
    return {"fixed CSR": own / others[0], "best format": own / min(others)}


def _variant(subject: Subject, format: str) -> Call | None:
    """The nest in a format; None in another one than that of a result with the operand's pattern."""
    try:
        return subject.variant(_schedule(subject, format))[0]
    except ls.LibsparseError:
        if not format:
            raise
        return None


def _formats(subject: Subject) -> Iterator[str]:
    """The operand's own format, and those that don't store much more."""
    pattern = subject.operands[_sparse(subject)].sparsity
    yield ""
    for name in _FORMATS if pattern.ndim == 2 else ():
        format = ls.Format(name)
        if format != pattern.format and pattern.converted(format).pattern.size <= _PADDED * pattern.size:
            yield format.text


def _schedule(subject: Subject, format: str) -> str:
    """Loops in the order of the format's modes, then those of dense operands."""
    problem, number = subject.problem, _sparse(subject)
    modes = problem.inputs[number]
    stored = ls.Format(format) if format else subject.operands[number].sparsity.format
    every = [index for indices in problem.inputs for index in indices]
    order = list(dict.fromkeys([*(modes[mode] for mode in stored.order), *every]))
    commands = [f"convert({problem.names[number]}, {format}, values)"] if format else []
    commands.append(f"reorder({', '.join(order)})")
    if order[-1] not in modes:
        if order[-1] not in problem.output:  # sums in lanes, as under -ffast-math
            commands.append(f"precompute(all, w, at={len(order) - 1})")
        commands.append(f"vectorize({order[-1]})")
    if threads.count() > 1:
        race = "" if order[0] in problem.output else ", atomics"
        commands.append(f"parallelize({order[0]}, threads{race})")
    return "; ".join(commands)


def _sparse(subject: Any) -> int:
    return next(number for number, operand in enumerate(subject.operands) if operand.pattern is not None)
