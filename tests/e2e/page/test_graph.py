"""The graph around the query: its threshold, expansion by neighbors, paths, and size limits."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

Look = Callable[[Page, str], None]

QUERY = "COc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
NEW = "FCOc1cccc(NC(=O)c2ccc(S(=O)(=O)N3CCCC3)cc2)c1"
ADDRESS = f"/?collection=chembl&q={QUERY}&view=graph"
URL = "/v1/collections/chembl/items"


@pytest.fixture(scope="module")
def query(api: httpx.Client) -> dict[str, Any]:
    """Return the item that the tests query."""
    item: dict[str, Any] = api.get(URL, params={"smiles": QUERY}).json()["items"][0]
    return item


@pytest.fixture(scope="module")
def subgraph(api: httpx.Client, query: dict[str, Any]) -> dict[str, Any]:
    """Return all neighbors of the query and the edges among them from the API."""
    reply: dict[str, Any] = api.get(f"{URL}/{query['id']}/subgraph", params={"max_items": 1000}).json()
    return reply


def open_graph(page: Page, address: str = ADDRESS) -> Locator:
    """Open a URL and return the items of the graph once they are loaded."""
    page.goto(address)
    members = page.get_by_role("list", name="Items in the graph").get_by_role("listitem")
    members.first.wait_for()
    return members


def url_values(page: Page, name: str) -> list[str]:
    return parse_qs(urlsplit(page.url).query).get(name, [])


def components(nodes: list[int], edges: list[dict[str, Any]], threshold: float) -> list[set[int]]:
    """Return the connected components with at least two members."""
    groups = [{node} for node in nodes]
    for edge in edges:
        if edge["similarity"] >= threshold:
            joined = [group for group in groups if edge["source"] in group or edge["target"] in group]
            groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return [group for group in groups if len(group) > 1]


def test_graph_equals_the_subgraph_of_the_api(page: Page, subgraph: dict[str, Any], look: Look) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(ADDRESS.replace("graph", "table"))
    page.locator("tbody tr").first.wait_for()
    assert [url for url in requests if "/assets/Graph" in url] == []
    page.get_by_text("Graph", exact=True).click()
    members = page.get_by_role("list", name="Items in the graph").get_by_role("listitem")
    expect(members).to_have_count(len(subgraph["nodes"]))
    assert [url for url in requests if "/assets/Graph" in url] != []
    expect(page.get_by_text(f"{len(subgraph['edges'])} edges")).to_be_visible()
    picture = page.get_by_role("img", name=re.compile("^Similarity graph around "))
    expect(picture).to_have_attribute(
        "aria-label", re.compile(f"{len(subgraph['nodes'])} items in 1 component at similarity ≥ 0.30")
    )
    look(page, "graph")


def test_slider_changes_the_threshold_of_the_graph(page: Page, subgraph: dict[str, Any], look: Look) -> None:
    members = open_graph(page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    nodes = [node["item"]["id"] for node in subgraph["nodes"]]
    for threshold in (0.4, 0.5, 0.35):
        page.get_by_role("slider").fill(str(threshold))
        expected = components(nodes, subgraph["edges"], threshold)
        size = sum(map(len, expected))
        alone = not any(nodes[0] in group for group in expected)
        expect(members).to_have_count(size + alone)
        visible_edges = sum(edge["similarity"] >= threshold for edge in subgraph["edges"])
        expect(
            page.get_by_text(
                re.compile(rf"in {len(expected)} components? at similarity ≥ {threshold:.2f}, {visible_edges} edges?")
            )
        ).to_be_visible()
        expect(page).to_have_url(re.compile(rf"min_similarity={threshold}\b"))
        if threshold == 0.4:
            look(page, "graph higher")
    assert [url for url in requests if "/v1/" in url and "depiction" not in url] == []
    page.go_back()
    expect(page.get_by_role("slider")).to_have_value("0.5")


def test_item_is_expanded_by_its_neighbors(page: Page, api: httpx.Client, subgraph: dict[str, Any], look: Look) -> None:
    members = open_graph(page)
    before = {node["item"]["id"] for node in subgraph["nodes"]}
    most = max(subgraph["nodes"], key=lambda node: node["hidden"])
    name = most["item"]["smiles"]
    button = members.get_by_role("button", name=f"{name}: {most['hidden']} more neighbors")
    button.click()
    neighbors = api.get(f"{URL}/{most['item']['id']}/neighbors", params={"limit": 1000}).json()["neighbors"]
    fresh = [each["item"]["id"] for each in neighbors if each["item"]["id"] not in before]
    expect(members).to_have_count(len(before) + min(len(fresh), 100))
    assert url_values(page, "expand") == [most["item"]["smiles"]]
    look(page, "graph expanded")
    page.reload()
    expect(members).to_have_count(len(before) + min(len(fresh), 100))
    page.go_back()
    expect(members).to_have_count(len(before))


def test_graph_is_colored_by_a_property(page: Page, look: Look) -> None:
    open_graph(page)
    choice = page.get_by_label("Color by")
    name = choice.locator("option").nth(1).get_attribute("value")
    choice.select_option(name)
    expect(page.locator(".scale")).to_be_visible()
    assert url_values(page, "colour") == [name]
    expect(page.get_by_text("without a value")).to_have_count(0)
    look(page, "graph by property")


def test_views_share_one_selection(page: Page, subgraph: dict[str, Any]) -> None:
    members = open_graph(page)
    second = subgraph["nodes"][2]["item"]
    members.get_by_role("button", name=second["smiles"]).first.click()
    expect(page.locator("figure.other")).to_contain_text(second["smiles"])
    page.get_by_role("group", name="View").get_by_text("Table").click()
    expect(page.locator("tr.chosen")).to_contain_text(second["smiles"])


def test_node_is_selected_by_a_click(page: Page) -> None:
    members = open_graph(page)
    box = page.get_by_role("img", name=re.compile("^Similarity graph around ")).bounding_box()
    assert box is not None
    for place in range(0, 400, 20):
        page.mouse.click(box["x"] + box["width"] / 2 + place, box["y"] + box["height"] * 0.4)
        if page.locator("li.chosen").count():
            break
    expect(members.and_(page.locator(".chosen"))).to_have_count(1)


def test_path_shows_the_similarity_of_each_step(
    page: Page, api: httpx.Client, query: dict[str, Any], look: Look
) -> None:
    nearby = api.get(f"{URL}/{query['id']}/subgraph", params={"hops": 2, "max_items": 1000}).json()["nodes"]
    distant = next(node["item"] for node in reversed(nearby) if node["hop"] == 2)
    expected = api.get("/v1/collections/chembl/paths", params={"from": query["id"], "to": distant["id"]}).json()["path"]
    page.goto("/?" + str(httpx.QueryParams(collection="chembl", q=QUERY, view="graph", to=distant["smiles"])))
    steps = page.get_by_label("Path", exact=True).get_by_role("listitem")
    expect(steps).to_have_count(2 * len(expected) - 1)
    similarities = [float(text.split()[0]) for text in page.locator("li.step").all_inner_texts()]
    assert similarities == pytest.approx([step["similarity"] for step in expected[1:]], abs=0.001)
    look(page, "path")
    page.get_by_role("link", name="Clear the path").click()
    expect(steps).to_have_count(0)


def test_path_is_found_between_two_selected_items(page: Page, subgraph: dict[str, Any]) -> None:
    members = open_graph(page)
    start, other = (subgraph["nodes"][place]["item"]["smiles"] for place in (1, 3))
    members.get_by_role("button", name=start).first.click()
    page.get_by_role("button", name="Start a path here").click()
    members.get_by_role("button", name=other).first.click()
    page.get_by_role("button", name="Path to here").click()
    path = page.get_by_label("Path", exact=True)
    expect(path).to_contain_text(f"Path from {start} to {other}")
    expect(path.get_by_role("listitem").last).to_contain_text(other)


def test_graph_is_used_by_the_keyboard(page: Page, subgraph: dict[str, Any]) -> None:
    members = open_graph(page)
    members.first.get_by_role("button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(members.nth(1)).to_have_class(re.compile("chosen"))
    page.get_by_role("button", name="Zoom in").focus()
    page.keyboard.press("Enter")
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    expect(page.get_by_text(re.compile("without an edge$"))).to_be_visible()


def test_new_structure_has_a_graph(page: Page, api: httpx.Client, look: Look) -> None:
    body = {"smiles": NEW, "min_similarity": 0.3, "limit": 100}
    hits = api.post("/v1/collections/chembl/search", json=body).json()["hits"]
    members = open_graph(page, f"/?collection=chembl&q={NEW}&view=graph&colour=molwt")
    assert hits
    expect(members).to_have_count(len(hits) + 1)
    weights = [hit["item"]["properties"]["molwt"] for hit in hits]
    expect(page.locator(".legend")).to_contain_text(f"{min(weights):.3f}")
    expect(page.locator(".legend")).to_contain_text(f"{max(weights):.3f}")
    # The query is the hollow node without a value.
    expect(page.locator(".legend")).to_contain_text("1 without a value")
    look(page, "graph of a new structure")


def test_graph_without_neighbors_is_explained(page: Page) -> None:
    members = open_graph(page, "/?collection=chembl&q=FC(F)(F)S(F)(F)(F)(F)F&view=graph")
    expect(members).to_have_count(1)
    expect(page.get_by_text("No item is this similar to the query.")).to_be_visible()
    page.get_by_role("link", name="Show the most similar items of the whole collection").click()
    expect(page.get_by_text("2,000 compared")).to_be_visible()


def test_collection_of_graphs_has_a_graph_view(page: Page, look: Look) -> None:
    members = open_graph(page, "/?collection=graphs&q=b&view=graph")
    expect(members).to_have_count(2)
    look(page, "graph of graphs")


def test_leaving_a_graph_while_it_is_resized_raises_no_error(page: Page) -> None:
    """Cytoscape.js measures its container 0.1 s after a resize, whether or not the graph still exists."""
    members = open_graph(page)
    expect(page.locator(".canvas")).to_have_attribute("aria-busy", "false")
    page.evaluate(
        """async ([member, table]) => {
            document.querySelector(".canvas").style.height = "300px";
            await new Promise(requestAnimationFrame);
            member.click(); // which is drawn larger, and so measured anew
            await new Promise((done) => setTimeout(done));
            table.click();
            await new Promise((done) => setTimeout(done, 300)); // what was due until now has been done
        }""",
        [
            members.nth(3).get_by_role("button").first.element_handle(),
            page.get_by_role("group", name="View").get_by_text("Table").element_handle(),
        ],
    )
