"""What it costs a request to be let in, by the number of keys: `python -m benchmarks.access`."""

import asyncio
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from graphkin.api.gate.access import Admission
from graphkin.protocol.keys import made
from graphkin.store import open_store

TIMES = 200_000  # so that the store is asked for its keys, too, once a second


async def measured(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store", create=True) as store:
        keys = store.keys()
        secrets = []
        for number in range(count):
            secret, key = made(f"key {number}", ["read"], ["one", "two"])
            secrets.append(secret)
            keys.add(key)
        admission = Admission(keys)
        await admission.admit(_request(secrets[0]), "read")
        seconds = np.empty(TIMES)
        for index in range(TIMES):
            scope = _request(secrets[index % count])
            begin = perf_counter()
            await admission.admit(scope, "read")
            seconds[index] = perf_counter() - begin
    median, high, most = np.percentile(seconds * 1e6, [50, 99.9, 100])
    print(f"{count:5} keys: median {median:.1f} µs, 99.9 % {high:.1f} µs, longest {most:,.0f} µs of {TIMES:,}")


def _request(secret: str) -> dict[str, object]:
    names = (b"host", b"user-agent", b"accept", b"accept-encoding", b"connection")
    headers = [*((name, b"something") for name in names), (b"authorization", b"Bearer " + secret.encode())]
    return {"headers": headers, "path_params": {"c": "two"}}


if __name__ == "__main__":
    for count in (1, 1000):
        asyncio.run(measured(count))
