"""Tools that read folders see the package as Python imports it."""

import os
from pathlib import Path

import grimp

PACKAGE = Path(__file__).parents[2] / "graphkin"


def test_folders_equal_the_modules_of_grimp() -> None:
    files = (
        Path(folder, name).relative_to(PACKAGE.parent)
        for folder, _, names in os.walk(PACKAGE, followlinks=True)
        for name in names
        if name.endswith(".py")
    )
    modules = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}
    assert grimp.build_graph("graphkin", cache_dir=None).modules == modules


def test_only_top_level_folders_are_links() -> None:
    links = {path.name: str(path.readlink()) for path in PACKAGE.rglob("*") if path.is_symlink()}
    assert links == {"api": "../api", "ingest": "../ingest", "trainer": "../trainer"}
