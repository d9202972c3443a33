"""What several kinds of test share: a reproducible hypothesis, real molecules, and real Neo4j servers."""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import neo4j
import pytest
from hypothesis import settings
from rdkit import RDConfig

_JAVA = Path(__file__).with_name("neo4j")

settings.register_profile("graphkin", deadline=None, derandomize=True, database=None)
settings.load_profile("graphkin")


@pytest.fixture(scope="session")
def nci_file() -> Path:
    """The 4,999 real molecules that ship inside the RDKit wheel: SMILES, white space, name."""
    return Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"


@pytest.fixture(scope="session")
def nci_smiles(nci_file: Path) -> list[str]:
    return [line.split()[0] for line in nci_file.read_text().splitlines()]


class Neo4jServer:
    """A real Neo4j 5.26 with GDS in a Java process of its own, reached over Bolt with authentication on."""

    user, password = "neo4j", "only-for-these-tests"

    def __init__(self, home: Path) -> None:
        self._home = home
        plugins = home / "plugins"
        plugins.mkdir(parents=True)
        for jar in (_JAVA / "target" / "lib").glob("*-2.13.9.jar"):
            (plugins / jar.name).symlink_to(jar)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.start()
        with neo4j.GraphDatabase.driver(self.url, auth=(self.user, "neo4j")) as driver:
            change = "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $password"
            driver.execute_query(change, password=self.password, database_="system")

    @property
    def url(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, or start again with the same data, and wait until it answers."""
        classes = [str(_JAVA / "target" / "classes"), str(_JAVA / "target" / "lib" / "*")]
        self._log = (self._home / "output.txt").open("ab")
        self._process = subprocess.Popen(
            ["java", "-Xmx1g", "-cp", os.pathsep.join(classes), "Server", str(self._home), str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError(f"Neo4j did not start: {(self._home / 'output.txt').read_text()[-2000:]}")

    def kill(self) -> None:
        """As a power cut would."""
        self._process.kill()
        self._wait()

    def stop(self) -> None:
        """In good order: the server ends with its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._wait()

    def _wait(self) -> None:
        self._process.wait(timeout=120)
        for stream in (self._process.stdin, self._process.stdout, self._log):
            assert stream is not None
            stream.close()

    def clear(self) -> None:
        """Delete everything but the schema."""
        with neo4j.GraphDatabase.driver(self.url, auth=(self.user, self.password)) as driver:
            driver.execute_query("MATCH (n) WHERE NOT n:Graphkin DETACH DELETE n")


@pytest.fixture(scope="session")
def start_neo4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Neo4jServer]]:
    """Starts another server; all of them end with the session. The credentials are in the environment meanwhile."""
    subprocess.run(["mvn", "-q", "-B", "-f", str(_JAVA / "pom.xml"), "compile"], check=True)
    servers: list[Neo4jServer] = []

    def start() -> Neo4jServer:
        servers.append(Neo4jServer(tmp_path_factory.mktemp("neo4j")))
        return servers[-1]

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRAPHKIN_NEO4J_USER", Neo4jServer.user)
        environment.setenv("GRAPHKIN_NEO4J_PASSWORD", Neo4jServer.password)
        yield start
    for server in servers:
        server.stop()
