import re
from xml.etree import ElementTree

import pytest

from zelkova import games
from zelkova.errors import ShapeError
from zelkova.reports.picture import Node, draw_tree_picture

BOARD = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 280 240"><rect width="9" height="9"/></svg>'


def tree() -> Node:
    leaf = tuple(Node(move, visits, 0.5) for move, visits in (("x", 5), ("y", 9), ("z", 1)))
    return Node("", 100, 0.5, (Node("a", 20, 0.9, leaf), Node("b", 70, 0.2), Node("<c>", 10, 1.0, leaf)))


def moves(svg: str) -> list[str | None]:
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [text.text for text in texts if text.get("font-weight") == "bold"]


def test_the_most_visited_children_are_drawn_first() -> None:
    assert moves(draw_tree_picture(BOARD, tree(), "t")) == ["now", "b", "a", "y", "x", "<c>", "y", "x"]
    assert moves(draw_tree_picture(BOARD, tree(), "t", widths=(1, 1))) == ["now", "b"]
    assert moves(draw_tree_picture(BOARD, Node("", 1, 0.5), "t")) == ["now"]


def test_boxes_do_not_overlap_and_lie_on_the_sheet() -> None:
    svg = draw_tree_picture(BOARD, tree(), "t")
    sheet = ElementTree.fromstring(svg)
    _, _, across, down = (float(side) for side in sheet.attrib["viewBox"].split())
    group = sheet.find("{http://www.w3.org/2000/svg}g")
    assert group is not None
    left, top = (float(part) for part in re.findall(r"[\d.]+", group.attrib["transform"]))
    boxes = [
        tuple(float(box.attrib[side]) for side in ("x", "y", "width", "height"))
        for box in group.iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert all(
        left + x >= 0 and left + x + w <= across and top + y >= 0 and top + y + h <= down
        for x, y, w, h in boxes
    )
    for index, (x, y, _, h) in enumerate(boxes):
        assert all(x != other[0] or abs(y - other[1]) > h for other in boxes[index + 1 :])


def test_lines_are_wider_where_more_visits_went() -> None:
    widths = [
        float(width)
        for width in re.findall(r'stroke-width="([\d.]+)"', draw_tree_picture(BOARD, tree(), "t"))
    ]
    to_b, to_a = widths[0], widths[1]
    assert to_b > to_a > 1


def test_colours_tell_who_stands_better() -> None:
    svg = draw_tree_picture(BOARD, Node("", 2, 0.5, (Node("good", 1, 1.0), Node("bad", 1, 0.0))), "t")
    assert 'fill="#0072b2"' in svg
    assert 'fill="#d55e00"' in svg


@pytest.mark.parametrize("name", games.names())
def test_a_games_own_board_is_drawn_in_scale(name: str) -> None:
    board = games.load(name).position()._repr_svg_()
    assert board is not None
    sheet = ElementTree.fromstring(draw_tree_picture(board, tree(), "A <title> & more"))
    assert sheet.find("{http://www.w3.org/2000/svg}title") is not None
    inner = sheet.find("{http://www.w3.org/2000/svg}svg")
    assert inner is not None
    assert float(inner.attrib["height"]) <= 420


@pytest.mark.parametrize(
    "board",
    ["", "no svg", "<svg/>", '<svg viewBox="0 0 0 0"/>', '<svg viewBox="a"/>', "<!DOCTYPE svg><svg/>"],
)
def test_what_is_no_board_is_refused(board: str) -> None:
    with pytest.raises(ShapeError):
        draw_tree_picture(board, tree(), "t")
