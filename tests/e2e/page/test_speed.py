"""The graph with as much as it shows, 1,000 nodes: what a move of the slider costs, and how smoothly it all moves."""

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

Look = Callable[[Page, str], None]

RECOMPUTED = 100  # ms
SMOOTH = 20  # frames a second
TRIES = 5  # the claim is about the page: a neighbour on the same processors may spoil some
URL = "/v1/collections/nci/items"

# One move in each of 40 frames. Gives the ms that each took, all that follows from it included, and frames a second.
MOVING = """async () => {
    const canvas = document.querySelector(".canvas");
    const { x, y, width, height } = canvas.getBoundingClientRect();
    const target = document.elementFromPoint(x + width / 2, y + height / 2);
    const mouse = (to, type, more) => to.dispatchEvent(new (type === "wheel" ? WheelEvent : MouseEvent)(
        type, { bubbles: true, cancelable: true, view: window, clientX: x + 9, clientY: y + 9, ...more }
    ));
    const slider = document.querySelector("input[type=range]");
    const there = (step) => (step < 20 ? step : 39 - step);
    const move = MOVE;
    const drawn = () => document.querySelector(".canvas > canvas").toDataURL();
    const [before, times] = [drawn(), []];
    let [changed, begin] = [false, performance.now()];
    for (let step = 0; step < 40; step++) {
        const moved = performance.now();
        move(step);
        await Promise.resolve();
        await Promise.resolve();
        times.push(performance.now() - moved);
        await new Promise(requestAnimationFrame);
        if (step !== 20) continue;
        const looked = performance.now();
        changed = drawn() !== before;
        begin += performance.now() - looked;
    }
    const rate = 40_000 / (performance.now() - begin);
    mouse(window, "mouseup", {});
    return [times, rate, changed];
}"""
MOVES = {
    "slider": """(step) => {
        slider.value = 0.4 + 0.01 * there(step);
        slider.dispatchEvent(new Event("input", { bubbles: true }));
    }""",
    "pan": """(step) => step === 0
        ? mouse(target, "mousedown", { buttons: 1 })
        : mouse(window, "mousemove", { buttons: 1, clientX: x + 9 + 4 * there(step) })""",
    "zoom": """(step) => mouse(target, "wheel", {
        clientX: x + width / 2, clientY: y + height / 2, deltaY: step < 20 ? -25 : 25
    })""",
}


@pytest.fixture(scope="module")
def large(api: httpx.Client) -> httpx.QueryParams:
    """The address of a graph of 1,000 nodes."""
    items = {item["id"]: item for item in api.get(URL, params={"limit": 1000}).json()["items"]}
    begin = max(items.values(), key=lambda item: item["degree"])
    shown, expanded = {begin["id"]: begin}, []
    for item in growing(shown):
        near: list[dict[str, Any]] = api.get(f"{URL}/{item['id']}/neighbors", params={"limit": 1000}).json()[
            "neighbors"
        ]
        fresh = {each["item"]["id"]: each["item"] for each in near if each["item"]["id"] not in shown}
        if item is begin or len(fresh) > 1:
            shown |= dict(list(fresh.items())[:100])
            expanded.append(item["smiles"])
        if len(shown) > 1000:
            break
    address = {"collection": "nci", "q": begin["smiles"], "view": "graph"}
    return httpx.QueryParams([*address.items(), *(("expand", each) for each in expanded[1:])])


def growing(shown: dict[int, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each item once, also those that are added meanwhile."""
    seen: set[int] = set()
    while left := [item for id, item in shown.items() if id not in seen]:
        seen.add(left[0]["id"])
        yield left[0]


def moved(page: Page, move: str) -> tuple[float, float]:
    """The best of some tries: ms that a move takes, and frames a second. It must change what is drawn."""
    took, smooth = float("inf"), 0.0
    for _ in range(TRIES):
        times, rate, changed = page.evaluate(MOVING.replace("MOVE", MOVES[move]))
        assert changed
        took, smooth = min(took, median(times)), max(smooth, rate)
        if took < RECOMPUTED and smooth > SMOOTH:
            break
    print(f"{move}: {took:.1f} ms, {smooth:.0f} frames a second")
    return took, smooth


def all_move_smoothly(page: Page) -> None:
    for move in MOVES:
        took, smooth = moved(page, move)
        assert took < RECOMPUTED, move
        assert smooth > SMOOTH, move


@pytest.mark.long
def test_a_thousand_nodes_move_smoothly(page: Page, large: httpx.QueryParams, look: Look) -> None:
    page.goto(f"/?{large}")
    members = page.get_by_role("list", name="Items of the graph").get_by_role("listitem")
    expect(members).to_have_count(1000, timeout=60_000)
    look(page, "graph of a thousand")
    all_move_smoothly(page)
    for _ in range(5):
        page.get_by_role("button", name="Zoom in").click()
    page.locator(".canvas[aria-busy=false]").wait_for()  # there are pictures now
    all_move_smoothly(page)
