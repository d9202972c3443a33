"""Names of encoders: the built-in ones, and those of installed packages (docs/develop/extending.md).

A package adds an encoder by an entry point of the group `graphkin.encoders`: the name, and the class or function that
`pretraining.objective.make_encoder` calls. Names are looked up without importing a package.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from graphkin.protocol.errors import InvalidInput, suggest
from graphkin.trainer.strategy import ENCODERS, NODE_ENCODERS

BUILT_IN = (*ENCODERS, *NODE_ENCODERS)
GROUP = "graphkin.encoders"
"""Entry point group in which a package registers encoders. Built-in names cannot be replaced."""


class Package(NamedTuple):
    """The package that provides an encoder.

    Attributes:
        distribution: Name under which it is installed.
        version: Its version.
    """

    distribution: str
    version: str


def require_encoder(name: str) -> None:
    """Check that an encoder of this name is built in or installed.

    Raises:
        InvalidInput: There is none, or several packages provide it.
    """
    if name in BUILT_IN:
        return
    packages = sorted({_package(entry) for entry in entry_points(group=GROUP, name=name)})
    if len(packages) > 1:
        raise InvalidInput(
            "several packages provide an encoder of this name",
            given=f"{name}, of {' and '.join(f'{each.distribution} {each.version}' for each in packages)}",
            expected="one package with this encoder",
            hint=f"uninstall one of them: pip uninstall {packages[-1].distribution}",
        )
    installed = _installed()
    if name not in installed:
        raise InvalidInput(
            "there is no encoder of this name",
            given=name,
            expected=f"{', '.join(BUILT_IN)}; from installed packages: {', '.join(sorted(installed)) or 'none'}",
            hint=suggest(
                name,
                [*BUILT_IN, *installed],
                f"install the package of the encoder, which registers it as an entry point of the group {GROUP}",
            ),
        )


def encoder_package(name: str) -> Package | None:
    """Return the installed package that provides an encoder; None for a built-in or unknown one."""
    entry = None if name in BUILT_IN else _installed().get(name)
    return None if entry is None else _package(entry)


def package_record(name: str) -> dict[str, Any]:
    """Return the entry of a run's description that names the package of its encoder; empty for a built-in one."""
    package = encoder_package(name)
    return {} if package is None else {"package": package._asdict()}


def require_package(name: str, description: Mapping[str, Any]) -> None:
    """Check that an encoder is provided by an installed package, if a description has an entry of `package_record`.

    Args:
        name: Name of the encoder.
        description: Description of a run or model.

    Raises:
        InvalidInput: The package is not installed. The hint is the command that installs it.
    """
    package = description.get("package")
    if package is not None and encoder_package(name) is None:
        distribution, version = package["distribution"], package["version"]
        raise InvalidInput(
            "the encoder of this model is not installed",
            given=name,
            expected=f"the package {distribution}, which provides it: version {version} in training",
            hint=f"install the package: pip install {distribution}=={version}",
        )


def load_factory(name: str) -> Callable[..., object]:
    """Import the class or function that an installed package registers under a name.

    Raises:
        InvalidInput: There is no encoder of this name, or it cannot be imported.
    """
    require_encoder(name)
    entry = _installed()[name]
    try:
        factory: Callable[..., object] = entry.load()
    except (ImportError, AttributeError) as error:
        package = _package(entry)
        raise InvalidInput(
            f"the encoder {name} cannot be imported: {error}",
            given=f"{entry.value}, of the package {package.distribution} {package.version}",
            expected="a module that can be imported, with this class or function",
            hint=f"update or reinstall the package {package.distribution}",
        ) from error
    return factory


def _installed() -> dict[str, EntryPoint]:
    """Return the entry points of installed encoders by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _package(entry: EntryPoint) -> Package:
    assert entry.dist is not None, "entry_points() sets the distribution"
    return Package(entry.dist.name, entry.dist.version)
