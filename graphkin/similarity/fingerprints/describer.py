"""The describer of fingerprints."""

from importlib.metadata import version

import pyarrow as pa

from graphkin.similarity.describer import Describer
from graphkin.similarity.fingerprints.recipe import BitsRecipe
from graphkin.similarity.packed import pack_hex, word_count
from graphkin.store.identity import content_digest

_KEY_FIELDS = {"schema_version", "bits", "tie_seed"}


class BitsDescriber(Describer[BitsRecipe]):
    """Describes fingerprints.

    The column `structure` holds the fingerprint in hexadecimal, and `popcount` the number of set bits. Equal
    fingerprints are the same item.
    """

    def __init__(self, recipe: BitsRecipe, max_size: int) -> None:  # noqa: ARG002 - the recipe fixes the size
        self._recipe = recipe
        self.key = f"{recipe.model_dump_json(include=_KEY_FIELDS)} {version('graphkin')}".encode()
        self.schema = pa.schema(
            [
                ("structure", pa.large_string()),
                ("popcount", pa.int32()),
                ("fingerprint", pa.binary(8 * word_count(recipe.bits))),
                ("digest", pa.binary(16)),
            ]
        )

    def describe(self, text: str, notation: str, name: str | None) -> tuple[object, ...]:  # noqa: ARG002
        bits = pack_hex(text, self._recipe.bits)
        digits = text.lower()
        return digits, int.from_bytes(bits).bit_count(), bits, content_digest(digits, self._recipe.tie_seed)
