"""The command line: what it prints, its statuses, and its suggestions."""

import json
import subprocess
import sys

import pytest
import scipy.io
import torch
from libsparse._cli import completion
from libsparse._cli.main import main

import libsparse as ls


def wrong(capsys, *words):
    """What a wrong command line prints."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"libsparse {ls.__version__}\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["expalin"], "there is no command 'expalin'; did you mean explain?"),
        (["zzz"], "the commands are run, explain"),
        (["tune", "--lst"], "did you mean --list?"),
        (["explain", "ij,j->i"], "required: operand"),
        ([], "required: command"),
        (["completion", "tcsh"], "choose from"),
    ],
)
def test_mistakes(capsys, words, told):
    assert told in wrong(capsys, *words)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "ij,j->i", "missing.mtx", "dense:3"], "operand 'missing.mtx': there is no such file"),
        (["run", "ij,j->i", "csr", "dense:3"], "expected a file, or format:shape"),
        (["run", "ij,j->i", "crs:3x3", "dense:3"], "'crs' is no format; did you mean csr"),
        (["run", "y(i) = exq(x(i))", "x=dense:3"], "did you mean the function"),
        (["run", "ij,j->i", "csr:3x3", "dense:3", "-o", "y.mtx"], "ask for one by --format"),
        (["run", "ij,j->i", "csr:3x3", "dense:3", "--dtype", "float33"], "'float33' is no torch dtype"),
        (["frontier", "ij,j->i", "csr:3x3"], "names 2 operands, 1 were given"),
        (["candidates", "y(i) = A(i,j,k)", "A=csf:2x2x2", "--format", "csr"], "format csr has 2 levels"),
        (["explain", "ij,j->i", "csr:3x3", "dense:3", "--stage", "loop"], "simplified, c; did you mean loops?"),
    ],
)
def test_errors(capsys, words, told):
    assert main(words) == 1
    assert told in capsys.readouterr().err


def test_files_are_operands(tmp_path, capsys):
    A, B = ls.random((30, 20), 0.2), ls.random((20, 10), 0.3)
    for name, tensor in (("a.mtx", A), ("b.tns", B)):
        ls.write(tmp_path / name, tensor)
    given = [str(tmp_path / "a.mtx"), str(tmp_path / "b.tns")]
    out = str(tmp_path / "c.mtx")
    assert main(["run", "ij,jk->ik", *given, "-o", out, "--repeat", "2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("SparseTensor(shape=(30, 10)")
    assert "2 calls: at least" in printed
    torch.testing.assert_close(torch.tensor(scipy.io.mmread(out).toarray()).float(), A.to_dense() @ B.to_dense())
    assert main(["run", "y(i) = A(i,j)", f"A={given[0]}"]) == 0
    assert capsys.readouterr().out.startswith("tensor([")
    named = [f"A={given[0]}", "x=dense:20"]
    assert (
        main(["compile", "y(i) = A(i,j) * x(j)", *named, "--schedule", "reorder(i, j); parallelize(i, threads)"]) == 0
    )
    printed = capsys.readouterr().out
    assert "forall i on threads" in printed
    assert "in the cache after" in printed


def test_the_compilers_own_options(capfd):
    assert main(["run", "y(i) = A(i,j) * x(j)", "-f=A:csr", "-d=i:6", "-d=j:5", "-check"]) == 0
    assert "check: as a dense evaluation" in capfd.readouterr().out
    assert main(["frontier", "y(i) = A(i,j) * x(j)", "-f=A:ds"]) == 0
    assert "on the frontier" in capfd.readouterr().out
    assert main(["functions"]) == 0
    assert "leaky_relu(a, b=0.01)" in capfd.readouterr().out.splitlines()


def test_questions_about_loop_nests(tmp_path, capsys):
    """frontier and candidates take operands as explain does, and files."""
    ls.write(tmp_path / "a.mtx", ls.random((30, 20), 0.2))
    assert main(["frontier", "y(i) = A(i,j) * x(j)", f"A={tmp_path / 'a.mtx'}", "x=dense:20"]) == 0
    assert "of class 1" in capsys.readouterr().out
    assert main(["frontier", "ij,jk->ik", "csr:30x20", "csc:20x10", "--format", "csr", "--taco", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["expression"] == "out(i,k) = A0(i,j) * A1(j,k)"
    assert found["classes"]
    assert main(["candidates", "ij,j->i", "csr:30x20", "dense:20", "--plain"]) == 0
    orders = [candidate["order"] for candidate in json.loads(capsys.readouterr().out) if candidate["plain"]]
    assert sorted(orders) == [["i", "j"], ["j", "i"]]


def test_cache(capsys, tmp_path):
    with ls.options(cache_dir=tmp_path):
        assert main(["cache"]) == 0
        assert f"{ls.cache.path}\n0 kernels, 0.0 MiB" in capsys.readouterr().out
        assert main(["cache", "--clear"]) == 0


def test_completion():
    """Bash offers commands, and options of the one that was written."""
    script = completion.script("bash", {"run": ["--density", "--dtype"], "doctor": []})
    for words, wanted in (("libsparse do", "doctor"), ("libsparse run --den", "--density")):
        last = len(words.split()) - 1
        asked = f"COMP_WORDS=({words}); COMP_CWORD={last}; _libsparse; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [wanted], done.stderr
    assert "-l dtype" in completion.script("fish", {"run": ["--dtype"]})
    assert completion.script("zsh", {"run": []}).startswith("autoload")


def test_nobody_reads_on(tmp_path):
    code = "import sys; from libsparse._cli.main import main; sys.exit(main(['functions']))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141
