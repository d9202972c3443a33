"""How loops over arrays are compiled: once on a machine, and to run without the GIL."""

from functools import partial
from secrets import randbits

from numba import njit
from numba.core.bytecode import FunctionIdentity

# Numba counts functions from 1 in every process and puts the number into the names of helpers, such as those that sort.
# Two processes may so give different helpers one name, and a third, which loads from the cache what both have compiled,
# runs the wrong one without a word (numba issue 10486). Random numbers do not meet, in forks neither.
FunctionIdentity._unique_ids = iter(partial(randbits, 64), None)  # type: ignore[assignment]

kernel = njit(nogil=True, cache=True)
"""Decorates such a loop."""

inlined = njit(nogil=True, cache=True, forceinline=True)
"""Decorates a part of one that is worth no call."""
