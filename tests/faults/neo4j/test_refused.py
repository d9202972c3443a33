"""Refusals: a wrong password, a newer schema, a sampler that the store does not have."""

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
def load_current_generation(server, source):
    server.clear()
    assert run(["load", "--store", str(source.folder), "--collection", "c", "--to", server.url]) == 0


@pytest.fixture
def load(source):
    """Return `load(url)`, which loads the other generation there and returns the exit code."""
    arguments = ["load", "--store", str(source.folder), "--collection", "c", "--generation", source.first, "--to"]
    return lambda url: run([*arguments, url])


@pytest.fixture
def settings(tmp_path):
    """Return a function that builds settings: `settings(store, sampler="snapshot")`."""
    return lambda store, sampler="snapshot": Settings(store=store, sampler=sampler, port=0, cache_dir=tmp_path)


def test_wrong_password_is_refused_without_being_printed(server, source, load, settings, monkeypatch, capfd, caplog):
    with monkeypatch.context() as environment, caplog.at_level(logging.DEBUG):
        environment.setenv(PASSWORD, SECRET)
        assert load(server.url) == 4
        with pytest.raises(StoreError, match="rejects this user and password") as refused:
            Server(settings(server.url))
    output = capfd.readouterr()
    assert "Neo4j rejects this user and password" in output.err
    assert f"check GRAPHKIN_NEO4J_USER and {PASSWORD}" in output.err
    assert not output.out
    assert "Traceback" not in output.err
    assert SECRET not in output.err + str(refused.value) + caplog.text
    assert run(["info", "--store", server.url]) == 0
    assert source.first not in capfd.readouterr().out


def test_reset_connection_is_reported_as_busy(resetting_url, server, monkeypatch):
    """The driver passes the operating system's error on. Which error it is depends on timing, so the test tries 20
    times.
    """
    monkeypatch.setattr(connection, "_PATIENCE", {"short": 0, "long": 0})
    connected = connection.Connection(resetting_url)
    for _ in range(20):
        with pytest.raises(StoreBusy, match="Neo4j does not answer"):
            connected.read("RETURN 1")
    connected.close()


@pytest.mark.parametrize("variables", [{PASSWORD: ""}, {}])
def test_password_in_the_url_is_refused_and_not_repeated(variables, server, load, settings, monkeypatch, capfd):
    """The password is refused whether or not the environment has one."""
    url = server.url.replace("://", f"://neo4j:{SECRET}@")
    with monkeypatch.context() as environment:
        for name, value in variables.items():
            environment.setenv(name, value)
        assert load(url) == 2
        with pytest.raises(InvalidInput) as refused:
            Server(settings(url))
    output = capfd.readouterr().err + str(refused.value)
    assert f"the environment variables GRAPHKIN_NEO4J_USER and {PASSWORD}" in output
    assert SECRET not in output


@pytest.mark.parametrize("content", [SECRET, f"/{SECRET}", "neo4j/", b"\xff", None])
def test_malformed_credentials_file_is_refused(content, tmp_path, monkeypatch):
    """The error names the file and does not repeat its content."""
    file = tmp_path / "auth"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setenv(connection.AUTH_FILE, str(file))
    with pytest.raises(InvalidInput, match=connection.AUTH_FILE) as refused:
        connection.Connection("bolt://127.0.0.1:1")
    assert SECRET not in str(refused.value)


def test_credentials_file_overrides_the_environment(server, tmp_path, monkeypatch):
    (tmp_path / "auth").write_text(f"{server.user}/{server.password}\n")
    with monkeypatch.context() as environment:
        environment.delenv(connection.USER)
        environment.setenv(PASSWORD, SECRET)
        environment.setenv(connection.AUTH_FILE, str(tmp_path / "auth"))
        connected = connection.Connection(server.url)
        assert connected.read("RETURN 1 AS one")[0]["one"] == 1
        connected.close()


def test_api_recovers_from_a_password_change(server, serve, proxy, caplog):
    """Open connections still work. After a cut, requests fail until the password is right again."""
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
        assert "rejects this user and password" in reply.json()["detail"]
        assert server.password not in reply.text + caplog.text
        assert client.get("/v1/collections").status_code == 200


@pytest.mark.parametrize(
    ("version", "age", "hint"),
    [(cypher.SCHEMA_VERSION + 1, "newer", "upgrade graphkin"), (cypher.SCHEMA_VERSION - 1, "older", "ingest again")],
)
def test_another_schema_version_is_refused(server, load, settings, serve, capfd, version, age, hint):
    """The database is not opened. A server that opened it before continues."""
    change = "MATCH (s:Graphkin {name: 'schema'}) SET s.version = $version"
    with serve(server.url) as client:
        before = client.get("/v1/collections/c").content
        server.ask(change, version=version)
        try:
            assert load(server.url) == 4
            with pytest.raises(StoreFormat, match=f"{age} version of graphkin"):
                Server(settings(server.url))
            assert client.get("/readyz").status_code == 200
            assert client.get("/v1/collections/c").content == before
        finally:
            server.ask(change, version=cypher.SCHEMA_VERSION)
    errors = capfd.readouterr().err
    assert f"the store was written by an {age} version of graphkin".replace("an newer", "a newer") in errors
    assert f"given: schema version {version}" in errors
    assert f"hint: {hint}" in errors


def test_gds_sampler_over_a_folder_is_refused(source, settings, monkeypatch, capfd):
    with pytest.raises(InvalidInput, match="needs a Neo4j store"):
        Server(settings(source.folder, "gds"))
    monkeypatch.setenv("GRAPHKIN_SAMPLER", "gds")
    assert run(["serve", "--store", str(source.folder), "--port", "0"]) == 2
    assert "needs a Neo4j store" in capfd.readouterr().err
