"""Tests of API keys: every process that opens the store sees the same keys and revocations."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from graphkin.protocol.errors import Conflict, InvalidInput, NotFound
from graphkin.protocol.keys import Key, create_key
from graphkin.store.base import Store
from graphkin.store.contract.places import StoreFixtures

_LATER = datetime(2100, 2, 3, 4, 5, 6, 789, tzinfo=UTC)


class KeyTests(StoreFixtures):
    """Tests of API keys. Each test has a store of its own."""

    @pytest.fixture
    def key(self) -> Key:
        return create_key('a trainer\'s "key" \N{SNOWMAN}', ["read", "sample"], ["one", "two"], timedelta(days=3))[1]

    def test_store_has_no_key_at_first(self, store: Store) -> None:
        assert store.keys().all() == []
        assert store.keys().version() == 0

    def test_every_store_object_has_the_keys(self, store_factory: Callable[[str], Store], place: str, key: Key) -> None:
        other = create_key("another", ["admin"], for_proxy=True)[1]
        store = store_factory(place)
        store.keys().add(key)
        store.keys().add(other)
        assert store.keys().all() == [key, other]
        assert store_factory(place).keys().all() == [key, other]
        assert store.collections() == []

    def test_every_change_is_another_version(self, store: Store, key: Key) -> None:
        keys, seen = store.keys(), [0]
        for change in (
            lambda: keys.add(key),
            lambda: keys.add(create_key("another", ["read"])[1]),
            lambda: keys.revoke(key.id, _LATER),
        ):
            change()
            assert keys.version() == store.keys().version()
            assert keys.version() not in seen
            seen.append(keys.version())

    def test_revoked_key_stays_with_its_time(self, store_factory: Callable[[str], Store], place: str, key: Key) -> None:
        store_factory(place).keys().add(key)
        revoked = store_factory(place).keys().revoke(key.id[:5], _LATER)
        assert revoked == key.model_copy(update={"revoked_at": _LATER})
        assert store_factory(place).keys().revoke(key.id, _LATER + timedelta(days=1)) == revoked
        assert store_factory(place).keys().all() == [revoked]

    def test_key_is_kept_once(self, store: Store, key: Key) -> None:
        store.keys().add(key)
        with pytest.raises(Conflict, match=key.id):
            store.keys().add(key.model_copy(update={"name": "other"}))
        assert store.keys().all() == [key]

    def test_unknown_key_is_not_found(self, store: Store, key: Key) -> None:
        with pytest.raises(NotFound, match="has no keys yet"):
            store.keys().revoke(key.id, _LATER)
        store.keys().add(key)
        twin = key.model_copy(update={"id": f"{key.id[:8]}{'0' if key.id[8] != '0' else '1'}{key.id[9:]}"})
        for prefix in ("", f"{key.id[1:]}0", key.id + "0", "' OR 1=1 //"):
            with pytest.raises(NotFound, match=key.id):
                store.keys().revoke(prefix, _LATER)
        with pytest.raises(NotFound) as error:
            store.keys().find(f"{key.id[:-1]}x")
        assert error.value.hint == f"did you mean {key.id}?"
        store.keys().add(twin)
        with pytest.raises(InvalidInput, match="several keys have ids that begin"):
            store.keys().revoke(key.id[:8], _LATER)
        assert [each.revoked_at for each in store.keys().all()] == [None, None]
