"""Marks of differences: on both sides of a comparison, and only where it came to an end."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

Look = Callable[..., None]
Shown = Callable[[Locator], str]


def marks(svg: str) -> set[str]:
    """The atoms that are marked."""
    return set(re.findall(r"<ellipse [^>]*class='(atom-\d+)' [^>]*style='fill:#99D3ED", svg))


def opened(page: Page, name: str) -> tuple[Locator, Locator, Locator]:
    """Look at a molecule of the collection pairs; gives its picture, the compared one, and the rows."""
    page.goto(f"/?collection=pairs&q={name}&exact=1")
    rows = page.locator("main section tbody tr")
    expect(rows.first).to_be_visible()
    panel = page.get_by_label("Query and comparison")
    return panel.locator("figure.query img"), panel.locator("figure.other img"), rows


def test_pair_that_is_slow_to_compare_is_marked_only_where_it_differs(page: Page, shown: Shown, look: Look) -> None:
    """RDKit's FindMCS knows 6 of 30 and 33 atoms to be shared when its time is over; 23 are."""
    query, other, _ = opened(page, "benzamide")
    assert len(marks(shown(other))) == 10
    assert len(marks(shown(query))) == 7
    look(page, "slow pair")


def test_missing_chlorine_is_marked_in_the_query(page: Page, shown: Shown, look: Look) -> None:
    query, other, rows = opened(page, "diclofenac")
    expect(page.locator("figure.other")).to_contain_text("monochlorinated")
    assert len(marks(shown(query))) == 1
    assert marks(shown(other)) == set()
    look(page, "missing chlorine")
    rows.filter(has_text="benzamide").hover()
    expect(page.locator("figure.other")).to_contain_text("benzamide")
    assert len(marks(shown(query))) > 1
    assert len(marks(shown(other))) > 1
    page.get_by_label("Pictures mark").select_option("nothing")
    assert marks(shown(query)) == set()


def test_query_that_is_not_stored_is_marked_too(page: Page, shown: Shown) -> None:
    query, other, _ = opened(page, "OC(=O)Cc1ccccc1Nc1c(Cl)cccc1Br")
    expect(page.locator("figure.query")).to_contain_text("A new structure")
    expect(page.locator("figure.other")).to_contain_text("diclofenac")
    assert len(marks(shown(query))) == len(marks(shown(other))) == 1


def test_comparison_that_took_too_long_is_unmarked_and_says_so(page: Page, shown: Shown, look: Look) -> None:
    query, other, _ = opened(page, "rings")
    expect(page.locator("figure.other")).to_contain_text("condensed")
    for picture in (query, other):
        assert marks(shown(picture)) == set()
        expect(picture).to_have_attribute("alt", re.compile("comparison took too long$"))
        assert ">comparison took too long</text>" in shown(picture)
    look(page, "comparison took too long")
