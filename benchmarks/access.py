"""Cost of authorizing a request, by the number of API keys: `python -m benchmarks.access`."""

import asyncio
import tempfile
from contextlib import closing
from pathlib import Path
from time import perf_counter

import numpy as np

from graphkin.api.http.access import AccessControl
from graphkin.api.http.quotas import Quotas
from graphkin.protocol.keys import Quota, create_key
from graphkin.store import open_store

TIMES = 200_000  # enough to include the reading of keys from the store, once per second


async def measure(count: int, quota: Quota, times: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "store", create=True) as store,
        closing(Quotas(Path(folder) / "quotas")) as quotas,
    ):
        keys = store.keys()
        secrets = []
        for number in range(count):
            secret, key = create_key(f"key {number}", ["read"], ["one", "two"], quota=quota)
            secrets.append(secret)
            keys.add(key)
        access_control = AccessControl(keys)
        await access_control.authorize(_request(secrets[0]), "read")
        seconds = np.empty(times)
        for index in range(times):
            scope = _request(secrets[index % count])
            begin = perf_counter()
            found = await access_control.authorize(scope, "read")
            assert found is not None
            with quotas.admit(scope, found, heavy=False):
                pass
            seconds[index] = perf_counter() - begin
    median, high, most = np.percentile(seconds * 1e6, [50, 99.9, 100])
    quotas_on = "with quotas" if quota.requests else "without"
    print(
        f"{count:5} keys {quotas_on}: median {median:.1f} µs, 99.9 % {high:.1f} µs, longest {most:,.0f} µs of {times:,}"
    )


def _request(secret: str) -> dict[str, object]:
    names = (b"host", b"user-agent", b"accept", b"accept-encoding", b"connection")
    headers = [*((name, b"something") for name in names), (b"authorization", b"Bearer " + secret.encode())]
    return {"headers": headers, "path_params": {"c": "two"}}


if __name__ == "__main__":
    for count in (1, 1000):
        asyncio.run(measure(count, Quota(), TIMES))
    asyncio.run(measure(1000, Quota(requests=10**6, rows=10**6), TIMES // 10))
