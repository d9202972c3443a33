"""What is refused: a wrong password, a newer schema, an engine that the store does not have."""

import logging

import neo4j
import pytest

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.cli import run
from graphkin.protocol.errors import InvalidInput, StoreBusy, StoreError, StoreFormat
from graphkin.store.neo4j import connection, cypher

PASSWORD = "GRAPHKIN_NEO4J_PASSWORD"
SECRET = "hidden-from-everybody"


@pytest.fixture(scope="module", autouse=True)
def published(server, source):
    server.clear()
    assert run(["load", "--store", str(source.folder), "--collection", "c", "--to", server.url]) == 0


@pytest.fixture
def load(source):
    """load(url): the exit code of loading the other generation there."""
    arguments = ["load", "--store", str(source.folder), "--collection", "c", "--generation", source.first, "--to"]
    return lambda url: run([*arguments, url])


@pytest.fixture
def settings(tmp_path):
    """settings(store, sampler="snapshot")"""
    return lambda store, sampler="snapshot": Settings(store=store, sampler=sampler, port=0, cache_dir=tmp_path)


def test_a_wrong_password(server, source, load, settings, monkeypatch, capfd, caplog):
    with monkeypatch.context() as environment, caplog.at_level(logging.DEBUG):
        environment.setenv(PASSWORD, SECRET)
        assert load(server.url) == 4
        with pytest.raises(StoreError, match="refuses this user and password") as refused:
            Server(settings(server.url))
    said = capfd.readouterr()
    assert "Neo4j refuses this user and password" in said.err
    assert f"check GRAPHKIN_NEO4J_USER and {PASSWORD}" in said.err
    assert not said.out
    assert "Traceback" not in said.err
    assert SECRET not in said.err + str(refused.value) + caplog.text
    assert run(["info", "--store", server.url]) == 0
    assert source.first not in capfd.readouterr().out


def test_a_server_that_hangs_up(hanging_up, server, monkeypatch):
    """Where the driver only lets the system's error through. Which error it is depends on who is quicker: 20 tries."""
    monkeypatch.setattr(connection, "_PATIENCE", {"short": 0, "long": 0})
    talking = connection.Connection(hanging_up)
    for _ in range(20):
        with pytest.raises(StoreBusy, match="Neo4j does not answer"):
            talking.read("RETURN 1")
    talking.close()


@pytest.mark.parametrize("given", [{PASSWORD: ""}, {}])
def test_a_password_in_the_address(given, server, load, settings, monkeypatch, capfd):
    """It is refused, whether or not there is one in the environment, and not repeated."""
    url = server.url.replace("://", f"://neo4j:{SECRET}@")
    with monkeypatch.context() as environment:
        for name, value in given.items():
            environment.setenv(name, value)
        assert load(url) == 2
        with pytest.raises(InvalidInput) as refused:
            Server(settings(url))
    said = capfd.readouterr().err + str(refused.value)
    assert f"the environment variables GRAPHKIN_NEO4J_USER and {PASSWORD}" in said
    assert SECRET not in said


@pytest.mark.parametrize("content", [SECRET, f"/{SECRET}", "neo4j/", b"\xff", None])
def test_a_file_without_credentials(content, tmp_path, monkeypatch):
    """It is refused by its name, and what it holds is not said."""
    file = tmp_path / "auth"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setenv(connection.AUTH_FILE, str(file))
    with pytest.raises(InvalidInput, match=connection.AUTH_FILE) as refused:
        connection.Connection("bolt://127.0.0.1:1")
    assert SECRET not in str(refused.value)


def test_credentials_in_a_file(server, tmp_path, monkeypatch):
    (tmp_path / "auth").write_text(f"{server.user}/{server.password}\n")
    with monkeypatch.context() as environment:
        environment.delenv(connection.USER)
        environment.setenv(PASSWORD, SECRET)
        environment.setenv(connection.AUTH_FILE, str(tmp_path / "auth"))
        talking = connection.Connection(server.url)
        assert talking.read("RETURN 1 AS one")[0]["one"] == 1
        talking.close()


def test_a_password_that_was_changed_while_the_api_runs(server, serve, proxy, caplog):
    """What is connected goes on; where the connections were cut, requests are refused until the password is right."""
    alter = "ALTER USER neo4j SET PASSWORD $password CHANGE NOT REQUIRED"
    with (
        serve(proxy.url) as client,
        neo4j.GraphDatabase.driver(server.url, auth=(server.user, server.password)) as administrator,
    ):
        administrator.execute_query(alter, password=SECRET, database_="system")
        try:
            assert client.get("/v1/collections").status_code == 200
            proxy.vanish()
            proxy.come_back()
            reply = client.get("/v1/collections")
        finally:
            administrator.execute_query(alter, password=server.password, database_="system")
        assert (reply.status_code, reply.headers["content-type"]) == (503, "application/problem+json")
        assert int(reply.headers["Retry-After"]) > 0
        assert "refuses this user and password" in reply.json()["detail"]
        assert server.password not in reply.text + caplog.text
        assert client.get("/v1/collections").status_code == 200


@pytest.mark.parametrize(
    ("version", "age", "hint"),
    [(cypher.SCHEMA_VERSION + 1, "newer", "upgrade graphkin"), (cypher.SCHEMA_VERSION - 1, "older", "ingest again")],
)
def test_a_database_at_another_schema_version(server, load, settings, serve, capfd, version, age, hint):
    """It is not opened; who has opened it before goes on."""
    change = "MATCH (s:Graphkin {name: 'schema'}) SET s.version = $version"
    with serve(server.url) as client:
        before = client.get("/v1/collections/c").content
        server.ask(change, version=version)
        try:
            assert load(server.url) == 4
            with pytest.raises(StoreFormat, match=f"{age} graphkin"):
                Server(settings(server.url))
            assert client.get("/readyz").status_code == 200
            assert client.get("/v1/collections/c").content == before
        finally:
            server.ask(change, version=cypher.SCHEMA_VERSION)
    said = capfd.readouterr().err
    assert f"the store was written by an {age} graphkin".replace("an newer", "a newer") in said
    assert f"given: schema version {version}" in said
    assert f"hint: {hint}" in said


def test_the_gds_sampler_over_a_folder(source, settings, monkeypatch, capfd):
    with pytest.raises(InvalidInput, match="needs a Neo4j store"):
        Server(settings(source.folder, "gds"))
    monkeypatch.setenv("GRAPHKIN_SAMPLER", "gds")
    assert run(["serve", "--store", str(source.folder), "--port", "0"]) == 2
    assert "needs a Neo4j store" in capfd.readouterr().err
