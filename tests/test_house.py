"""The walls of the house: who may import whom, as CONTRIBUTING draws it.

Every import counts alike: at the top of a module, inside a function, or for the type checker alone. An import that is
put off still ties one room to another, and so does a type in a signature.
"""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest
from house import Import, circles, code_lines, private, room, walk
from pages import ROOT


@cache
def imports():
    """Return every import of the library: read once, and not by whoever only collects tests."""
    return walk(ROOT / "src" / "seepage")


# From the top down. A room stands on the floors below its own, and knows nothing of the rooms beside it.
FLOORS = (
    ("cli",),
    ("request",),
    ("report",),
    ("release", "attacks"),
    ("display", "ledger", "inspection", "tables"),
    ("linear", "network", "aggregates"),
    ("equations", "trees"),
    ("attackers",),
    ("leakage",),
    ("meaning", "execution", "pages", "core"),
    # The modules of the root: tables, noise, facts.
    ("",),
    ("errors",),
)
# Inside a room the same holds, from the top down; what is not named here stands on all the rest.
STAIRS = {
    "linear": (
        ("",),
        ("written",),
        ("printed",),
        ("files", "survival", "results"),
        ("information",),
        ("objective",),
        ("rows",),
        ("columns",),
    ),
    "report": (("",),),
    "cli": (("",), ("commands",), ("input",), ("terminal",)),
}
# Doors show users what is in the rooms, and nobody inside goes through one: the front door, those that show a part of a
# room or parts of several, and `python -m seepage`.
DOORS = {"seepage", "seepage.__main__", "seepage.engines", "seepage.models"}

# What is still to be mended. An entry may only go: a test fails when one is no longer needed.
KNOWN_FLOORS: set[str] = set()
KNOWN_STAIRS: set[str] = set()
KNOWN_CIRCLES: list[set[str]] = []
KNOWN_PRIVATE: set[str] = set()

# Code lines allowed in each room (no blank lines, comments, docstrings). A ceiling may only be lowered.
CEILINGS = {
    "(root)": 1_681,
    "aggregates": 1_084,
    "attackers": 3_513,
    "attacks": 790,
    "cli": 2_222,
    "core": 871,
    "display": 610,
    "equations": 813,
    "execution": 1_649,
    "inspection": 2_335,
    "leakage": 1_772,
    "ledger": 992,
    "linear": 13_188,
    "meaning": 758,
    "network": 4_575,
    "pages": 296,
    "release": 3_343,
    "report": 820,
    "request": 1_856,
    "tables": 1_108,
    "trees": 1_200,
}
TESTS_CEILING = 31_005


def _pairs(imports):
    return {f"{each.importer} > {each.imported}" for each in imports}


def _height(floors, name):
    return next(len(floors) - number for number, rooms in enumerate(floors) if name in rooms)


def _upward(imports):
    """Yield the imports that leave a room for anything but a floor below."""
    for each in imports:
        above, below = room(each.importer), room(each.imported)
        if above != below and each.importer not in DOORS and _height(FLOORS, above) <= _height(FLOORS, below):
            yield each


def _upstairs(imports, name):
    """Yield the imports inside a room that leave a folder for anything but one below."""

    def folder(module):
        inner = "".join(module.split(".")[2:3])
        return inner if any(inner in steps for steps in STAIRS[name]) else ""

    for each in imports:
        if room(each.importer) == room(each.imported) == name:
            above, below = folder(each.importer), folder(each.imported)
            if above != below and _height(STAIRS[name], above) <= _height(STAIRS[name], below):
                yield each


def test_every_room_has_a_floor():
    modules = {each.importer for each in imports()} | {each.imported for each in imports()}
    assert {room(module) for module in modules - DOORS} <= {name for floor in FLOORS for name in floor}


def test_contributing_draws_the_same_house():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawing = text.partition("## The house")[2].split("```")[1].strip("\n")
    floors, names = [[]], {name for floor in FLOORS for name in floor}
    for line in drawing.splitlines():
        if set(line.strip()) == {"-"}:
            floors.append([])
        elif not line.startswith(" "):
            floors[-1].append(line.split()[0].replace("(root)", ""))
    assert {name for floor in floors for name in floor} <= names
    assert [set(floor) for floor in floors] == [set(floor) for floor in FLOORS]


def test_nobody_inside_goes_through_a_door():
    assert not [str(each) for each in imports() if each.imported in DOORS and each.importer not in DOORS]


def test_a_door_shows_what_is_in_the_rooms_and_has_nothing_of_its_own():
    for door in DOORS - {"seepage", "seepage.__main__"}:
        body = ast.parse((ROOT / "src" / f"{door.replace('.', '/')}.py").read_text(encoding="utf-8")).body
        assert all(isinstance(each, ast.ImportFrom) for each in body[1:]), door
        assert ast.get_docstring(ast.Module(body, [])), door


def test_experiments_use_public_names_alone():
    private = set()
    for path in (ROOT / "experiments").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            whole = [f"{module}.{name}" if module else name for name in names]
            whole += [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
            private |= {(path.name, name) for name in whole if name.startswith("seepage.") and "._" in name}
    assert private == set()


def test_imports_point_down():
    assert _pairs(_upward(imports())) == KNOWN_FLOORS


@pytest.mark.parametrize("name", STAIRS)
def test_imports_point_down_inside_a_room(name):
    known = {entry for entry in KNOWN_STAIRS if entry.startswith(f"seepage.{name}.")}
    assert _pairs(_upstairs(imports(), name)) == known


def test_linear_models_and_networks_know_nothing_of_each_other():
    both = {"linear", "network"}
    assert not [each for each in imports() if {room(each.importer), room(each.imported)} == both]


def test_engines_know_nothing_of_privacy():
    """They add partial results and map rows; of this library they know its errors and how amounts are written."""
    below = {each.imported for each in imports() if room(each.importer) == "execution" != room(each.imported)}
    assert below <= {"seepage.errors", "seepage._amounts"}


def test_pictures_stand_on_leakage_and_meaning_alone():
    known = {each for each in imports() if _pairs([each]) <= KNOWN_FLOORS}
    below = {room(each.imported) for each in imports() if room(each.importer) == "display" and each not in known}
    assert below <= {"display", "leakage", "attackers", "meaning", "", "errors"}


def test_no_modules_import_each_other_in_a_circle():
    found = [set(circle) for circle in circles([each for each in imports() if each.importer not in DOORS])]
    assert found == KNOWN_CIRCLES


def test_a_name_of_a_class_means_one_thing():
    trees = [ast.parse(path.read_text()) for path in (ROOT / "src").rglob("*.py")]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_private_modules_stay_private():
    assert _pairs(each for each in imports() if private(each)) == KNOWN_PRIVATE


def test_no_room_is_above_its_ceiling():
    lines = Counter()
    for path in (ROOT / "src" / "seepage").rglob("*.py"):
        parts = path.relative_to(ROOT / "src" / "seepage").parts
        lines[parts[0] if len(parts) > 1 else "(root)"] += code_lines(path)
    above = {name: count for name, count in lines.items() if count > CEILINGS.get(name, 0)}
    assert not above, "delete concepts, or move code to the room that it belongs to"
    assert set(CEILINGS) == set(lines)


def test_the_tests_are_below_their_ceiling():
    assert sum(code_lines(path) for path in (ROOT / "tests").rglob("*.py")) <= TESTS_CEILING


@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("seepage", "torch sklearn matplotlib pandas polars pyarrow ray pyspark numba opendp skops typer rich"),
        ("seepage.core", "torch sklearn matplotlib pandas pyarrow numba"),
        ("seepage.leakage", "torch sklearn matplotlib pandas polars pyarrow numba"),
        ("seepage.meaning", "torch sklearn matplotlib pandas pyarrow numba"),
        ("seepage.display", "torch matplotlib sklearn pyarrow numba ray"),
        ("seepage.execution", "torch matplotlib sklearn ray pyspark"),
        ("seepage.engines", "torch matplotlib ray pyspark opendp"),
        ("seepage.models", "torch matplotlib ray pyspark opendp"),
        ("seepage.linear", "torch matplotlib ray pyspark opendp"),
        ("seepage.release", "torch matplotlib ray pyspark opendp"),
        ("seepage.report", "torch matplotlib ray sklearn pyarrow"),
        ("seepage.inspection", "torch matplotlib sklearn pandas pyarrow skops"),
        ("seepage.attacks", "torch matplotlib ray"),
        ("seepage.network", "matplotlib ray sklearn"),
        ("seepage.cli._app", "torch matplotlib ray sklearn pandas pyarrow skops opendp"),
    ],
)
def test_what_nobody_asked_for_is_not_imported(imported, absent):
    code = f"import sys, {imported}; print(*set({absent.split()}) & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


@pytest.fixture
def tree(tmp_path):
    """Return a function that writes modules of a package called seepage, and walks it."""

    def write(**modules):
        root = tmp_path / "seepage"
        for name, text in {"": "", **modules}.items():
            path = root.joinpath(*name.split("__")) if name else root
            for folder in [path.parent, *path.parent.parents]:
                if root in [folder, *folder.parents] and not (folder / "__init__.py").exists():
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / "__init__.py").touch()
            if name:
                path.with_suffix(".py").write_text(text)
        return walk(root)

    return write


def test_the_walk_finds_imports_wherever_they_are(tree):
    found = tree(
        cli__top="import seepage.leakage.a\nfrom seepage.leakage import a, b\nimport numpy",
        cli__later="def f():\n    from ..leakage import a\n    from . import top",
        cli__typed="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from seepage.leakage.a import A",
        cli__named="from importlib import import_module\nimport_module('seepage.leakage.a')",
        leakage__a="",
    )
    assert {(each.importer, each.imported, each.line) for each in found} == {
        ("seepage.cli.top", "seepage.leakage.a", 1),
        ("seepage.cli.top", "seepage.leakage.a", 2),
        ("seepage.cli.top", "seepage.leakage", 2),
        ("seepage.cli.later", "seepage.leakage.a", 2),
        ("seepage.cli.later", "seepage.cli.top", 3),
        ("seepage.cli.typed", "seepage.leakage.a", 3),
        ("seepage.cli.named", "seepage.leakage.a", 2),
    }


def test_the_walls_can_be_hit(tree):
    found = tree(
        leakage___up="def f():\n    from seepage.report import page",
        linear___aside="import seepage.network.layers",
        linear__rows___up="from seepage.linear.files import read",
        report__page="from seepage.leakage._up import f",
        network__layers="",
        linear__files__read="",
    )
    assert _pairs(_upward(found)) == {
        "seepage.leakage._up > seepage.report.page",
        "seepage.linear._aside > seepage.network.layers",
    }
    assert _pairs(_upstairs(found, "linear")) == {"seepage.linear.rows._up > seepage.linear.files.read"}
    assert circles(found) == [["seepage.leakage._up", "seepage.report.page"]]
    assert _pairs(filter(private, found)) == {"seepage.report.page > seepage.leakage._up"}


@pytest.mark.parametrize(
    ("importer", "imported", "is_private"),
    [
        ("seepage.a.b._m", "seepage.a.b._n", False),
        ("seepage.a.b", "seepage.a.b._n", False),
        ("seepage.a.b.c._m", "seepage.a.b._n", False),
        ("seepage.a._m", "seepage.a.b._n", False),
        ("seepage.a", "seepage.a.b._n", False),
        ("seepage.a.b._m", "seepage._n", False),
        ("seepage.a.b._m", "seepage.c.n", False),
        ("seepage.a.c._m", "seepage.a.b._n", True),
        ("seepage.c._m", "seepage.a.b._n", True),
        ("seepage.c._m", "seepage.a._n", True),
        ("seepage.ab._m", "seepage.a._n", True),
    ],
)
def test_a_private_module_is_for_its_package_and_the_one_around_it(importer, imported, is_private):
    assert private(Import(importer, imported, 1)) is is_private
