"""`graphkin keys`: manage the API keys of a store."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, get_args

import click

from graphkin.cli import options
from graphkin.cli.help import group, option
from graphkin.cli.output import note, print_json
from graphkin.protocol.values import Access

if TYPE_CHECKING:
    from graphkin.protocol.keys import Key

_MAX_DAYS = 36_500  # maximum lifetime of a key, about a hundred years
_COUNT = click.IntRange(min=1)


class _Scopes(click.ParamType[Any]):
    """The type of an option for a list of scopes, separated by commas."""

    name = "scope"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        scopes = tuple(part.strip() for part in value.split(","))
        for scope in scopes:
            if scope not in get_args(Access):
                self.fail(f"one or more of {', '.join(get_args(Access))}, separated by commas", param, ctx)
        return scopes


@group(
    examples=[
        ("Create a key for a notebook", "graphkin keys create --store s --name notebook --scope read,sample,export"),
        ("List the keys", "graphkin keys list --store s"),
        ("Revoke a key", "graphkin keys revoke 3f9a2c --store s"),
    ]
)
def keys() -> None:
    """Create, list and revoke API keys of a store.

    Without keys, everyone who can reach the server can read everything. With the first key, every request needs a key,
    even if all keys are revoked later. A running server applies a change within a second.
    """


@keys.command(
    examples=[
        ("Create a key for training", "graphkin keys create --store s --name trainer --scope read,sample,export"),
        (
            "Create a key for one collection that expires in 30 days",
            "graphkin keys create --store s --name guest --scope read --collection m --expires 30",
        ),
    ]
)
@options.store
@option("--name", metavar="NAME", required=True, panel="Access", help="Name of the key, such as that of its owner.")
@option(
    "--scope",
    "access",
    type=_Scopes(),
    metavar="SCOPE[,SCOPE...]",
    required=True,
    panel="Access",
    help="Permissions: read (read and search), sample (positives and negatives), export (files of whole collections), "
    "write (new collections and changes), metrics (/metrics only) or admin (everything). Training needs "
    "read,sample,export.",
)
@option(
    "--collection",
    "collections",
    multiple=True,
    metavar="NAME",
    panel="Access",
    help="Collection that the key can access. Repeat it for several. [default: all]",
)
@option(
    "--expires",
    type=click.IntRange(1, _MAX_DAYS),
    metavar="DAYS",
    panel="Access",
    help="Days until the key expires. [default: never]",
)
@option(
    "--requests-per-minute",
    "requests",
    type=_COUNT,
    metavar="N",
    panel="Access",
    help="Largest number of requests in a minute. [default: no limit]",
)
@option(
    "--rows-per-minute",
    "rows",
    type=_COUNT,
    metavar="N",
    panel="Access",
    help="Largest number of rows in a minute. A large response also uses the rows of the next minutes. "
    "[default: no limit]",
)
@option(
    "--heavy-at-once",
    "heavy",
    type=click.IntRange(1, 64),
    metavar="N",
    panel="Access",
    help="Largest number of simultaneous requests that search, sample or export.",
)
@option(
    "--for-proxy",
    is_flag=True,
    panel="Access",
    help="Key of a reverse proxy that authenticates users. Each request must name the user in X-Forwarded-User. The "
    "limits apply to each user.",
)
@options.as_json
def create(
    store_location: str,
    name: str,
    access: tuple[Access, ...],
    collections: tuple[str, ...],
    expires: int | None,
    for_proxy: bool,
    as_json: bool,
    **quota: int | None,
) -> None:
    """Create an API key and print it.

    The key is printed only once, because the store keeps its digest. Without --json, standard output is only the key:
    GRAPHKIN_API_KEY=$(graphkin keys create ...)
    """
    from graphkin.protocol.errors import InvalidInput
    from graphkin.protocol.keys import NAME, Quota, create_key
    from graphkin.store import open_store
    from graphkin.store.base import require_collection_name

    if NAME.fullmatch(name) is None:
        expected = "1 to 100 characters on one line"
        raise InvalidInput("invalid --name", given=name, expected=expected, hint="add `--name NAME`")
    for collection in collections:
        require_collection_name(collection)
    lifetime = None if expires is None else timedelta(days=expires)
    secret, key = create_key(name, access, collections, lifetime, Quota(**quota), for_proxy=for_proxy)
    with open_store(store_location) as store:
        store.keys().add(key)
    if as_json:
        print_json({"key": secret, **_key_fields(key)})
        return
    click.echo(secret)
    note(f"created key {key.id}: {_describe_key(key)}")
    note("  it cannot be shown again; send it as `Authorization: Bearer KEY`")


@keys.command("list", examples=[("List the keys", "graphkin keys list --store s")])
@options.store
@options.as_json
def list_keys(store_location: str, as_json: bool) -> None:
    """List all keys, including revoked ones, the oldest first.

    The list shows ids and permissions, not the keys themselves.
    """
    from graphkin.store import open_store

    with open_store(store_location) as store:
        all_keys = store.keys().all()
    if as_json:
        print_json([_key_fields(key) for key in all_keys])
    elif not all_keys:
        click.echo("no keys: everyone who can reach the server can read everything")
    for key in [] if as_json else all_keys:
        click.echo(f"{key.id}  {_describe_key(key)}")


@keys.command(examples=[("Revoke a key", "graphkin keys revoke 3f9a2c --store s")])
@click.argument("id", metavar="ID")
@options.store
@options.as_json
def revoke(store_location: str, id: str, as_json: bool) -> None:
    """Revoke a key.

    ID is an id from `graphkin keys list`, or the beginning of it.
    """
    from graphkin.store import open_store

    with open_store(store_location) as store:
        key = store.keys().revoke(id, datetime.now(UTC))
    if as_json:
        print_json(_key_fields(key))
        return
    click.echo(f"revoked key {key.id}: {_describe_key(key)}")


def _key_fields(key: "Key") -> dict[str, Any]:
    """Return the JSON fields of a key: its stored fields without the digest, and its state."""
    return {**key.model_dump(mode="json", exclude={"digest"}), "state": key.state(datetime.now(UTC))}


def _describe_key(key: "Key") -> str:
    """Return the description of a key, in one line of text."""
    state = key.state(datetime.now(UTC))
    end = {"revoked": key.revoked_at, "expired": key.expires_at, "valid": key.expires_at}[state]
    word = "until" if state == "valid" else state
    validity = "" if end is None else f", {word} {end:%Y-%m-%d %H:%M} UTC"
    bounds = {
        "requests a minute": key.quota.requests,
        "rows a minute": key.quota.rows,
        "heavy at once": key.quota.heavy,
    }
    quota = "".join(f", {bound:,} {label}" for label, bound in bounds.items() if bound is not None)
    per_user = " for each user" if key.for_proxy and quota else ""
    proxy = ", of a proxy" if key.for_proxy else ""
    permissions = f"for {', '.join(key.access)} of {', '.join(key.collections) or 'every collection'}"
    return f"{key.name!r}, {permissions}{proxy}{validity}{quota}{per_user}"
