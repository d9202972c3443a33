"""The describer of vectors."""

from importlib.metadata import version

import pyarrow as pa

from graphkin.similarity.describer import Describer
from graphkin.similarity.vectors.recipe import VectorRecipe
from graphkin.similarity.vectors.text import format_vector, length, read_vector
from graphkin.store.identity import content_digest

_KEY_FIELDS = {"schema_version", "dimension", "tie_seed"}


class VectorDescriber(Describer[VectorRecipe]):
    """Describes vectors.

    The column `structure` holds the vector as JSON, and `norm` its Euclidean norm. Equal vectors are the same item.
    """

    def __init__(self, recipe: VectorRecipe, max_size: int) -> None:  # noqa: ARG002 - the recipe fixes the size
        self._recipe = recipe
        self.key = f"{recipe.model_dump_json(include=_KEY_FIELDS)} {version('graphkin')}".encode()
        self.schema = pa.schema(
            [
                ("structure", pa.large_string()),
                ("norm", pa.float64()),
                ("vector", pa.binary(4 * recipe.dimension)),
                ("digest", pa.binary(16)),
            ]
        )

    def describe(self, text: str, notation: str, name: str | None) -> tuple[object, ...]:  # noqa: ARG002
        vector = read_vector(text, self._recipe.dimension)
        content = format_vector(vector)
        return content, length(vector), vector.astype("<f4").tobytes(), content_digest(content, self._recipe.tie_seed)
