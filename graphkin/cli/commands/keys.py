"""`graphkin keys`: manage the API keys of a store."""

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, get_args

import click

from graphkin.cli import options
from graphkin.protocol.values import Access

if TYPE_CHECKING:
    from graphkin.protocol.keys import Key

_DAYS = 36_500
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
                self.fail(f"{scope!r} is not one of {', '.join(get_args(Access))}.", param, ctx)
        return scopes


@click.group()
def keys() -> None:
    """Make keys of a store's API, list them and revoke them.

    As long as a store has no key, whoever reaches its server reads everything. Once it has one, every request needs
    one, also when all were revoked. A server that is running obeys within a second.
    """


@keys.command()
@options.store
@click.option("--name", metavar="NAME", required=True, help="What the key is called: whose it is, say.")
@click.option(
    "--scope",
    "access",
    type=_Scopes(),
    metavar="SCOPE[,SCOPE...]",
    required=True,
    help="What it is for: read (look and search), sample (draw positives and negatives), export (files of whole "
    "collections; training needs all three), admin (everything, /metrics too).",
)
@click.option(
    "--collection",
    "collections",
    multiple=True,
    metavar="NAME",
    help="Collection that it is for; again for more.  [default: all]",
)
@click.option(
    "--expires",
    type=click.IntRange(1, _DAYS),
    metavar="DAYS",
    help="Days that it lasts.  [default: until it is revoked]",
)
@click.option(
    "--requests-per-minute", "requests", type=_COUNT, metavar="N", help="Requests that it may make in a minute."
)
@click.option(
    "--rows-per-minute",
    "rows",
    type=_COUNT,
    metavar="N",
    help="Rows of items, edges, positives, ... that it gets in a minute; a reply may take those of the next ones too.",
)
@click.option(
    "--heavy-at-once",
    "heavy",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Requests at once that search, sample, draw or export.",
)
@click.option(
    "--for-proxy",
    is_flag=True,
    help="Of a reverse proxy that lets users in: each of its requests must name one in X-Forwarded-User, and has the "
    "bounds above to itself.",
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
    """Make a key, and print it: this once, for the store keeps no more than its digest.

    Without --json standard output is the key alone: GRAPHKIN_API_KEY=$(graphkin keys create ...)
    """
    from graphkin.protocol.errors import require
    from graphkin.protocol.keys import NAME, Quota, create_key
    from graphkin.store import open_store
    from graphkin.store.base import require_collection_name

    require(NAME.fullmatch(name) is not None, "name of a key", name, "1 to 100 characters on one line")
    for collection in collections:
        require_collection_name(collection)
    lifetime = None if expires is None else timedelta(days=expires)
    secret, key = create_key(name, access, collections, lifetime, Quota(**quota), for_proxy=for_proxy)
    with open_store(store_location) as store:
        store.keys().add(key)
    if as_json:
        click.echo(json.dumps({"key": secret, **_key_fields(key)}))
        return
    click.echo(secret)
    click.echo(f"created key {key.id}: {_describe_key(key)}", err=True)
    click.echo("  nothing can show it again; send it as `Authorization: Bearer KEY`", err=True)


@keys.command("list")
@options.store
@options.as_json
def list_keys(store_location: str, as_json: bool) -> None:
    """List all keys, the oldest first, those that were revoked too. None is shown itself."""
    from graphkin.store import open_store

    with open_store(store_location) as store:
        all_keys = store.keys().all()
    if as_json:
        click.echo(json.dumps([_key_fields(key) for key in all_keys]))
    elif not all_keys:
        click.echo("no key: everything is open to whoever reaches the server")
    for key in [] if as_json else all_keys:
        click.echo(f"{key.id}  {_describe_key(key)}")


@keys.command()
@click.argument("id", metavar="ID")
@options.store
def revoke(store_location: str, id: str) -> None:
    """Let a key open nothing any more. ID is one of `graphkin keys list`, or how one alone begins."""
    from graphkin.store import open_store

    with open_store(store_location) as store:
        key = store.keys().revoke(id, datetime.now(UTC))
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
