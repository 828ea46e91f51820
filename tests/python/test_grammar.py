"""There is one grammar and one list of functions, although Python and Go both read it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from libsparse._lang import assignment, grammar, operations, regions
from libsparse._lang.assignment import Access, Call

import libsparse as ls

COMPILER = Path(ls.__file__).parent / "_libsparse_go"

TEXTS = [
    "y(i) = A(i,j) * x(j) + b(i)",
    "y = -2 * (a(i) - b(i)) / 4e-1",
    "y(i) = a(i) - (b(i) - c(i)) - d(i)",
    "y(i) = a(i) / (b(i) * c(i)) * d(i)",
    "y(i) += A(i(2:4),j(0:10:5)) * x(j)",
    "y(i(1:9:2),j) max= A(i,j)",
    "y(i) mean= A(i,j)",
    "y(i) |= eq(A(i,j), 1)",
    "t(i) = A(i,j) * x(j); y(i) = t(i) * i",
    "y(i) = first[0 & ~1](a(i), b(i)) + mul[0 | (1 ^ 0)](c(i), d(i))",
    "y(i) = where(gt(a(i), b(i)), sigmoid(-c(i)), clamp(d(i), 0, 1))",
    "y(i) = add[every](a(i), sub[all](b(i), c(i)))",
]


def listed() -> dict[str, tuple[int, list[float], bool, int]]:
    output = subprocess.run([COMPILER, "functions"], capture_output=True, check=True, text=True).stdout
    return {f["name"]: (f["args"], f["defaults"] or [], f["float"], f["region"]) for f in json.loads(output)}


def test_functions_are_those_of_the_compiler():
    mine = {}
    for name, count in operations.ARITY.items():
        region = regions.usual(Call(name, tuple([Access(p) for p in "xyz"[:count]])))
        sets = [regions.holds(region, [bool(chosen >> k & 1) for k in range(count)]) for chosen in range(1 << count)]
        bits = sum(held << chosen for chosen, held in enumerate(sets))
        defaults = [float(text) for text in operations.DEFAULTS.get(name, ())]
        mine[name] = count, defaults, name in operations.FLOAT_ONLY, bits
    assert mine == listed()


def test_derivatives_are_of_functions_and_cover_all_arguments():
    for name, partials in operations.DERIVATIVES.items():
        assert len(partials) == operations.ARITY[name]
        for partial in filter(None, partials):
            grammar.expression(partial)
    assert set(operations.ARITY) - set(operations.DERIVATIVES) == {"heaviside"} - set(operations.DERIVATIVES)


@pytest.mark.parametrize("text", TEXTS)
def test_printing_and_parsing_are_inverse(text):
    program = grammar.parse(text)
    assert grammar.parse("; ".join(map(str, program))) == program


@pytest.mark.parametrize("text", TEXTS)
def test_the_compiler_reads_what_python_writes(text):
    """Both print the same tree the same way when the compiler's text is read again."""
    program = grammar.parse(text)
    written = "; ".join(map(str, program))
    printed = [explained(t) for t in (text, written)]
    assert printed[0] == printed[1]
    again = grammar.parse("; ".join(printed[0].strip().split("\n")))
    for mine, theirs in zip(program, again, strict=True):
        assert mine.target == theirs.target
        assert [n for n in assignment.walk(mine.value) if isinstance(n, assignment.Access)] == [
            n for n in assignment.walk(theirs.value) if isinstance(n, assignment.Access)
        ]


def explained(text: str) -> str:
    output = subprocess.run([COMPILER, "explain", "notation", text], capture_output=True, check=False, text=True)
    assert output.returncode == 0, output.stderr
    return output.stdout


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = a(i(2))",
        "y(i) = sqrt(a(i), 2)",
        "y(i) = a(i) +",
        "y(i) = add[0 &(a(i), b(i))",
        "y(i) == a(i)",
        "y(i) = a(i);; z(i) = b(i)",
        "y(1) = a(1)",
        "= a(i)",
    ],
)
def test_both_refuse(text):
    with pytest.raises(ls.FormatError):
        grammar.parse(text)
    assert subprocess.run([COMPILER, "explain", "notation", text], capture_output=True, check=False).returncode == 1
