"""Task `draw_graph`: a small graph as a layout, a large graph as its counts and a histogram of its degrees."""

import json
from collections import Counter
from xml.etree.ElementTree import Element, SubElement, tostring

import networkx as nx

MAX_NODES, MAX_EDGES = 150, 600  # largest graph that is drawn as a layout

_MARGIN = 0.06  # margin of a layout, relative to the smaller side of the SVG
_INK, _NODE, _CENTER = "#4a5568", "#2b6cb0", "#c05621"
_BARS = 12  # maximum number of bars of a histogram


def draw_graph(structure: str, title: str, width: int, height: int) -> str:
    """Draw a graph as SVG. The subgraph of a node is drawn with this node, its center, highlighted.

    Args:
        structure: Graph as JSON, as stored in the item table.
        title: Title of the SVG.
        width: Width in pixels.
        height: Height in pixels.
    """
    content = json.loads(structure)
    graph = nx.empty_graph(content["num_nodes"])
    graph.add_edges_from(content["edges"])
    counts = f"{graph.number_of_nodes():,} nodes, {graph.number_of_edges():,} edges"
    svg = Element(
        "svg",
        {"xmlns": "http://www.w3.org/2000/svg", "width": f"{width}px", "height": f"{height}px"},
        viewBox=f"0 0 {width} {height}",
    )
    SubElement(svg, "title").text = "".join(character for character in title if character.isprintable())
    SubElement(svg, "desc").text = counts
    SubElement(svg, "rect", width="100%", height="100%", fill="#ffffff")
    if graph.number_of_nodes() <= MAX_NODES and graph.number_of_edges() <= MAX_EDGES:
        _draw_nodes(svg, graph, content.get("centre"), width, height)
    else:
        _summarize(svg, graph, counts, width, height)
    return f'<?xml version="1.0" encoding="iso-8859-1"?>\n{tostring(svg, encoding="us-ascii").decode()}'


def _draw_nodes(svg: Element, graph: nx.Graph, center: int | None, width: int, height: int) -> None:
    """Draw the nodes and edges in a Fruchterman-Reingold layout. It is deterministic, because its seed is fixed."""
    margin = _MARGIN * min(width, height) + 2
    scale = width / 2 - margin, height / 2 - margin
    position = {
        node: (width / 2 + scale[0] * float(x), height / 2 + scale[1] * float(y))
        for node, (x, y) in nx.spring_layout(graph, seed=0).items()
    }
    lines = SubElement(svg, "g", {"stroke": _INK, "stroke-width": "1", "stroke-opacity": "0.5"})
    for u, v in graph.edges:
        (x1, y1), (x2, y2) = position[u], position[v]
        SubElement(lines, "line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}")
    radius = max(1.5, min(width, height) / (16 + 4 * graph.number_of_nodes() ** 0.5))
    points = SubElement(svg, "g", fill=_NODE)
    for x, y in position.values():
        SubElement(points, "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:.1f}")
    if center is not None:
        x, y = position[center]
        ring = {"fill": _CENTER, "stroke": "#ffffff", "stroke-width": f"{radius / 3:.1f}"}
        SubElement(svg, "circle", ring, cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{1.7 * radius:.1f}")


def _summarize(svg: Element, graph: nx.Graph, counts: str, width: int, height: int) -> None:
    """Draw the counts and a histogram of node degrees in powers of two."""
    by_power = Counter(min(degree.bit_length(), _BARS - 1) for _, degree in graph.degree)
    size = max(8.0, min(width / 18, height / 10))
    _text(svg, counts, width / 2, 1.5 * size, size)
    bars = max(by_power) + 1
    available, highest = height - 5 * size, max(by_power.values())
    step = (width - 2 * size) / bars
    for power in range(bars):
        bar_height = available * by_power[power] / highest
        left = size + power * step
        SubElement(
            svg,
            "rect",
            {"x": f"{left:.1f}", "y": f"{height - 2.5 * size - bar_height:.1f}", "fill": _NODE},
            width=f"{0.8 * step:.1f}",
            height=f"{bar_height:.1f}",
        )
        _text(svg, str(2 ** (power - 1) if power else 0), left + 0.4 * step, height - 1.4 * size, 0.7 * size)
    _text(svg, "nodes by degree, from", width / 2, height - 0.4 * size, 0.7 * size)


def _text(svg: Element, text: str, x: float, y: float, size: float) -> None:
    position = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": f"{size:.1f}", "text-anchor": "middle"}
    SubElement(svg, "text", position, fill=_INK, **{"font-family": "sans-serif"}).text = text
