"""Tools that read folders see the package as Python imports it."""

import os
from pathlib import Path

import grimp

PACKAGE = Path(__file__).parents[2] / "graphkin"


def test_folders_are_the_modules_that_grimp_sees() -> None:
    files = (
        Path(folder, name).relative_to(PACKAGE.parent)
        for folder, _, names in os.walk(PACKAGE, followlinks=True)
        for name in names
        if name.endswith(".py")
    )
    modules = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}
    assert grimp.build_graph("graphkin", cache_dir=None).modules == modules


def test_only_the_folders_at_the_top_are_linked() -> None:
    links = {each.name: str(each.readlink()) for each in PACKAGE.rglob("*") if each.is_symlink()}
    assert links == {"api": "../api", "ingest": "../ingest", "trainer": "../trainer"}
