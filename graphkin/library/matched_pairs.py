"""Methods of a collection about matched molecular pairs."""

from graphkin.library.base import CollectionBase, require_limit
from graphkin.library.request_arguments import require_id
from graphkin.library.table import Table
from graphkin.protocol.errors import require
from graphkin.protocol.matched_pairs import ItemMatchedPairsQuery, MatchedPairsQuery
from graphkin.protocol.validation import translate_validation_errors
from graphkin.protocol.values import Change, TransformationOrder


class MatchedPairs(CollectionBase):
    """The methods of a collection about matched molecular pairs."""

    def matched_pairs(
        self,
        property: str,
        *,
        min_count: int = 3,
        by: TransformationOrder = "count",
        source: str | None = None,
        target: str | None = None,
        pairs: int = 10,
        limit: int | None = None,
    ) -> Table:
        """Return transformations between matched molecular pairs, and the change of a property with each of them.

        A matched pair is two molecules that differ in one part of at most 10 heavy atoms: cuts of one to three single
        bonds outside rings leave the same constant parts. A transformation is the exchange of one part for another. It
        has the direction in which the mean difference is 0 or more. The pairs are found once per generation and then
        read from a cache.

        Args:
            property: A numeric property, as `items` names it.
            min_count: Smallest number of pairs in which both molecules have a value.
            by: Order: `count` returns the most pairs first, `mean` the largest mean difference.
            source: Part of the only transformation to return, as the column from has it, together with `target`.
            target: Part that replaces `source`. The transformation is returned in this direction.
            pairs: Maximum number of pairs in the column pairs, up to 1,000.
            limit: Maximum number of transformations. The default is all.

        Returns:
            One row per transformation: from and to, SMILES with the attachment points `[*:1]` to `[*:3]`; count int32,
            the number of pairs in which both molecules have a value; mean and sd float64, the mean and the standard
            deviation of the difference in units of the property, with a null sd for one pair; and pairs, lists of two
            item ids int32, the largest difference first. `note` counts the molecules that are not cut, by reason.

        Raises:
            InvalidInput: If an argument is out of range, or there is no such numeric property. The error lists the
                numeric properties.
            Conflict: If the items are not molecules.

        Example:
            ```python
            transformations = mine.matched_pairs("molwt", min_count=2)
            mine.matched_pairs("molwt", by="mean", limit=20)
            ```
        """
        require_limit(limit, "transformations")
        require(
            (source is None) == (target is None),
            "transformation",
            "source without target" if target is None else "target without source",
            "both source and target, or neither",
            hint="pass the parts as the columns from and to have them",
        )
        fields = {"property": property, "min_count": min_count, "by": by, "from": source, "to": target, "pairs": pairs}
        with translate_validation_errors():
            request = MatchedPairsQuery.model_validate(fields)
        table, uncut = self._matched_pairs(request, limit)
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in uncut.items())
        return Table(table, note=f"molecules that are not cut: {reasons}" if reasons else None)

    def matched_pairs_of(
        self,
        id: int | None = None,
        *,
        smiles: str | None = None,
        name: str | None = None,
        property: str,
        min_count: int = 3,
        change: Change = "raise",
        pairs: int = 10,
        limit: int | None = None,
    ) -> Table:
        """Return the transformations that can be applied to an item and raise or lower a property on average.

        The pairs of a transformation may have other surroundings than the item, so the change is an observation of
        other molecules and not a prediction.

        Args:
            id: Id of the item. Exactly one of `id`, `smiles` and `name` is required.
            smiles: SMILES of the item.
            name: Name of the item.
            property: A numeric property, as `items` names it.
            min_count: Smallest number of pairs in which both molecules have a value.
            change: Whether to return transformations that `raise` or that `lower` the property on average.
            pairs: Maximum number of pairs in the column pairs, up to 1,000.
            limit: Maximum number of transformations. The default is all.

        Returns:
            The columns of `matched_pairs`, the largest mean change first. from is a part of the item. The column
            products lists the molecules that the transformation makes of the item: smiles, and id int32, the id of the
            item with this structure or null. `note` says why the item is not cut, if it is not.

        Raises:
            NotFound: If there is no such item.
            InvalidInput: If an argument is out of range, or there is no such numeric property. The error lists the
                numeric properties.
            Conflict: If the items are not molecules.

        Example:
            ```python
            ideas = mine.matched_pairs_of(0, property="molwt", min_count=1, change="lower")
            ```
        """
        require_limit(limit, "transformations")
        require_id(id)
        fields = {"property": property, "min_count": min_count, "change": change, "pairs": pairs}
        with translate_validation_errors():
            request = ItemMatchedPairsQuery.model_validate(fields)
        item = self._item_id(id, smiles, name)
        table, reason = self._matched_pairs_of(item, request, limit)
        return Table(table, note=None if reason is None else f"item {item} is not cut: {reason}")
