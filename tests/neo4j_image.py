"""A copy of the documented behavior of the entry point of Neo4j's image, for a container that does not run as root.

The behavior is that of Neo4j 5.24 and later, and of the calendar versions. Neo4j's operations manual documents it
in the chapter on Docker, and `docker-entrypoint.sh` of the repository neo4j/docker-neo4j implements it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

USER = 7474
"""User and group that own the folders of the image."""

HOME = "/var/lib/neo4j"

FOLDERS = ("/data", "/logs", HOME)
"""Folders of the image that belong to `USER`, with all folders in them."""

FIRST_WITH_SECRETS = (5, 24)
"""First version that reads variables whose names end with `_FILE`. An earlier one turns them into settings."""

CONTROLS = {
    "NEO4J_ACCEPT_LICENSE_AGREEMENT",
    "NEO4J_AUTH",
    "NEO4J_AUTH_PATH",
    "NEO4J_DEBUG",
    "NEO4J_DEPRECATION_WARNING",
    "NEO4J_EDITION",
    "NEO4J_HOME",
    "NEO4J_PLUGINS",
    "NEO4J_SHA256",
    "NEO4J_TARBALL",
}
"""Variables that do not become settings."""

PLUGINS = {
    "apoc": "apoc.*",
    "apoc-extended": "apoc.*",
    "bloom": "bloom.*",
    "genai": "genai.*",
    "graph-data-science": "gds.*",
    "n10s": "semantics.*",
}
"""Names of plugins that the image can install, with the procedures that it lets them run unrestricted."""

_UNRESTRICTED = "dbms.security.procedures.unrestricted"


class ContainerEnds(Exception):
    """The entry point ends the container with this message."""


@dataclass(frozen=True)
class Place:
    """Owner, group and mode of a mounted file or folder."""

    user: int
    group: int
    mode: int

    def looks_readable(self, user: int, groups: frozenset[int]) -> bool:
        """Return whether the entry point takes it for readable: it reads the digits of the mode from the left."""
        owner, group, others = (int(digit) >= 4 for digit in f"{self.mode:o}".ljust(3, "0")[:3])
        return others or (owner and self.user == user) or (group and self.group in groups)

    def is_writable(self, user: int, groups: frozenset[int]) -> bool:
        shift = 6 if self.user == user else 3 if self.group in groups else 0
        return bool(self.mode >> shift & 2)


IMAGE_PLACE = Place(USER, USER, 0o777)


def volume_place(path: str) -> Place:
    """Return the owner of a named volume of Docker: that of the folder in the image, or root if there is none."""
    in_image = any(path == folder or path.startswith(f"{folder}/") for folder in FOLDERS)
    return IMAGE_PLACE if in_image else Place(0, 0, 0o755)


@dataclass(frozen=True)
class Container:
    """A container of the image.

    Attributes:
        environment: Variables.
        mounts: Mounted files and folders by path.
        texts: Texts of the mounted files by path.
        user: User id.
        groups: Ids of the user's groups.
    """

    environment: Mapping[str, str]
    mounts: Mapping[str, Place] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    user: int = USER
    groups: frozenset[int] = frozenset({USER})

    def start(self) -> "Started":
        """Return what the entry point prepares before it starts the server.

        Raises:
            ContainerEnds: The entry point ends the container.
        """
        assert self.user > 0
        variables = {**self.environment, **self._secrets()}
        plugin_folder = self._prepare_folders(variables)
        settings: dict[str, str] = {}
        plugins = []
        for name in json.loads(variables.get("NEO4J_PLUGINS") or "[]"):
            if name not in PLUGINS:
                raise ContainerEnds(f"{name} is not a known Neo4j plugin")
            plugins.append(f"{plugin_folder}/{name}.jar")
            settings[_UNRESTRICTED] = ",".join(filter(None, (PLUGINS[name], settings.get(_UNRESTRICTED))))
        settings |= {"server.memory.pagecache.size": "512M", "server.default_listen_address": "0.0.0.0"}
        settings |= settings_of(variables)
        return Started(settings, initial_password(variables.get("NEO4J_AUTH", "")), plugins)

    def _secrets(self) -> dict[str, str]:
        """Return the variables whose values are texts of files. They override variables of the same name."""
        secrets = {}
        for name, path in self.environment.items():
            if name.startswith("NEO4J_") and name.endswith("_FILE"):
                place = self.mounts.get(path)
                if place is None or not place.looks_readable(self.user, self.groups):
                    raise ContainerEnds(f"the secret file {path} does not exist or is not readable")
                secrets[name.removesuffix("_FILE")] = self.texts[path].rstrip("\n")
        return secrets

    def _prepare_folders(self, variables: dict[str, str]) -> str:
        """Check the folders, set the variables that name them, and return the folder of the plugins."""
        if "/plugins" in self.mounts:
            if variables.get("NEO4J_PLUGINS"):
                self._require_writable("/plugins")
            if not self.mounts["/plugins"].looks_readable(self.user, self.groups):
                raise ContainerEnds("folder /plugins is not accessible")
            variables.setdefault("NEO4J_server_directories_plugins", "/plugins")
        folder = "/plugins" if "/plugins" in self.mounts else f"{HOME}/plugins"
        if variables.get("NEO4J_PLUGINS"):
            self._require_writable(folder)
        for path in ("/logs", "/data"):
            self._require_writable(path)
        variables.setdefault("NEO4J_server_directories_logs", "/logs")
        return folder

    def _require_writable(self, path: str) -> None:
        place = self.mounts.get(path, IMAGE_PLACE)
        if not place.is_writable(self.user, self.groups) and place.user != USER:
            raise ContainerEnds(f"folder {path} is not accessible")


@dataclass(frozen=True)
class Started:
    """State before the server starts.

    Attributes:
        settings: Settings in its configuration file.
        password: Initial password of the user neo4j; None if the server needs no password, or keeps its own.
        plugins: Paths of the files that the entry point downloads, at every start.
    """

    settings: dict[str, str]
    password: str | None
    plugins: list[str]


def settings_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that variables become: `_` becomes a dot, and `__` becomes `_`."""
    names = sorted(name for name in variables if name.startswith("NEO4J_") and name not in CONTROLS)
    settings = {
        name.removeprefix("NEO4J_").replace("_", ".").replace("..", "_"): variables[name]
        for name in names
        if variables[name] and not name.endswith("_FILE")
    }
    return {name: value for name, value in settings.items() if not name[0].isdigit()}


def initial_password(auth: str) -> str | None:
    """Return the initial password of NEO4J_AUTH.

    Raises:
        ContainerEnds: The value is invalid, or `neo4j-admin` would refuse the password.
    """
    match = re.fullmatch(r"([^/]+)/([^/]+)/?(true)?", auth, re.IGNORECASE)
    if auth in ("", "none"):
        return None
    if match is None:
        raise ContainerEnds("invalid value for NEO4J_AUTH")
    user, password, _ = match.groups()
    if user != "neo4j":
        raise ContainerEnds("the user must be neo4j")
    if password == "neo4j":
        raise ContainerEnds("the password cannot be neo4j")
    if len(password) < 8:
        raise ContainerEnds("a password must be at least 8 characters")
    return str(password)
