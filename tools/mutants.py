#!/usr/bin/env python3
"""Do the tests notice when the code is wrong? Change one operator at a time and run the tests.

    .venv/bin/python tools/mutants.py src/crossarc/models --tests tests/models --number 15

Works on copies below a temporary folder; the checkout is not touched. Each mutant is told with the
processor time of its tests and what they said: killed, and by which test, SURVIVED (a test is
missing, or the change is equivalent: look) or timeout. Kernels that do not depend on the change are
not compiled again: every mutant starts from a copy whose kernel cache is warm. `--skip` goes on
where an earlier run with the same seed ended.
"""

import argparse
import ast
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
SMALL_NUMBERS = (0, 1, 2)
# A line of pytest's summary: the file and the test.
_FAILED = re.compile(r"^(?:FAILED|ERROR) (?:[\w.-]+/)*(.+?)(?: - |$)", re.MULTILINE)


def sites(tree: ast.AST) -> Iterator[ast.AST]:
    """Every operator and small number inside a function, annotations left out."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
                    if type(node.op) in SWAPS:
                        yield node
                elif isinstance(node, ast.Compare):
                    if type(node.ops[0]) in SWAPS:
                        yield node
                elif (
                    isinstance(node, ast.Constant)
                    and type(node.value) in (int, float)
                    and node.value in SMALL_NUMBERS
                ):
                    yield node


def mutated(source: str, rng: random.Random) -> tuple[str, str] | None:
    """The source with one change, and a line that tells it; None if there is nothing to change."""
    tree = ast.parse(source)
    found = list(sites(tree))
    if not found:
        return None
    node = rng.choice(found)
    before = ast.unparse(node)
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(node, ast.Constant):
        node.value = node.value + 1  # type: ignore[operator]
    line = getattr(node, "lineno", 0)
    text = ast.unparse(ast.fix_missing_locations(tree))
    return text, f"{line}: {before}  ->  {ast.unparse(node)}"


class Trial:
    """A copy of the project in which the tests run."""

    def __init__(self, project: Path, folder: Path, arguments: argparse.Namespace) -> None:
        self.project = project
        self.copy = folder / "project"
        self.arguments = arguments
        python = (project / arguments.python).absolute()
        self.python = str(python) if python.exists() else arguments.python
        shared = project.parent / "shared"
        if shared.exists():
            (folder / "shared").symlink_to(shared)

    def renew(self, source: Path) -> None:
        """Make the copy anew."""
        shutil.rmtree(self.copy, ignore_errors=True)
        leave_out = shutil.ignore_patterns(".git", ".venv*", "_build", ".device*")
        shutil.copytree(source, self.copy, ignore=leave_out, symlinks=True)

    def test(self) -> subprocess.CompletedProcess[str]:
        """Run the tests until one fails."""
        environment = {
            "PYTHONPATH": f"{self.copy}/src:{self.copy}/tests",
            "PATH": f"{Path(self.python).parent}:/usr/bin:/bin",
            "HOME": str(self.copy.parent),
        }
        command = [self.python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        return subprocess.run(
            [*command, *self.arguments.tests],
            cwd=self.copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=self.arguments.timeout,
        )

    def verdict(self) -> str:
        """What the tests say, and which of them failed."""
        try:
            run = self.test()
        except subprocess.TimeoutExpired:
            return "timeout"
        if not run.returncode:
            return "SURVIVED"
        failed = _FAILED.search(run.stdout)
        return f"killed by {failed[1] if failed else f'a crash, status {run.returncode}'}"


def draw_mutants(
    project: Path, where: list[Path], seed: int
) -> Iterator[tuple[Path, tuple[str, str]]]:
    """Mutants without end: the file, its new text and what was changed."""
    rng = random.Random(seed)
    found = {f for w in where for f in ([w] if w.is_file() else w.rglob("*.py"))}
    files = sorted(f for f in found if f.name != "__init__.py")
    while True:
        file = rng.choice(files)
        change = mutated((project / file).read_text(), rng)
        if change is not None:
            yield file, change


def processor_seconds() -> float:
    """What all test processes that have ended took."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("where", nargs="+", type=Path, help="folders or files to change")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="what pytest runs")
    parser.add_argument("--number", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first SKIP mutants")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for the tests")
    parser.add_argument("--python", default=".venv/bin/python")
    return parser.parse_args()


def main() -> None:
    """Draw mutants and print what the tests say of each."""
    options = arguments()
    project = Path.cwd()
    killed = survived = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm = folder / "warm"
        trial = Trial(project, folder, options)
        trial.renew(project)
        first = trial.test()
        if first.returncode:
            print(first.stdout[-2000:], first.stderr[-500:])
            sys.exit("the tests fail without any mutant")
        os.rename(trial.copy, warm)
        for number, (file, (text, what)) in enumerate(
            draw_mutants(project, options.where, options.seed), 1
        ):
            if number > options.number:
                break
            if number <= options.skip:
                continue
            trial.renew(warm)
            (trial.copy / file).write_text(text)
            start = processor_seconds()
            verdict = trial.verdict()
            survived += verdict == "SURVIVED"
            killed += verdict != "SURVIVED"
            seconds = processor_seconds() - start
            print(f"{number:3} {seconds:5.0f} s  {file}:{what}\n      {verdict}", flush=True)
    print(f"{killed} of {killed + survived} killed")


main()
