"""The annotation board: choices, requests of the browser, undo, and fixes."""

from __future__ import annotations

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ArgumentError, UnknownNameError, UnknownNodeError
from byoc_lab.lab.view.board import Board
from byoc_lab.lab.view.states.objects import state_and_ids
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order

from .asking import shown_step
from .samples import annotated, network


def calls(board: Board, name: str) -> list[Call]:
    found = post_order(board.plain["main"])
    return [n for n in found if isinstance(n, Call) and n.is_op(name)]


def test_operators_are_moved_into_regions_and_out() -> None:
    board = byoc_lab.board(network())
    assert board.stats == {"offloaded": 0, "host": 6, "regions": 0}
    conv, _ = calls(board, "nn.conv2d")
    relu, _ = calls(board, "nn.relu")
    board.put(conv, "dnnl")
    assert board.stats == {"offloaded": 1, "host": 5, "regions": 1}
    board.put(relu, "dnnl")
    assert board.stats["regions"] == 2, "the batch norm between them is on the host"
    (norm, _) = calls(board, "nn.batch_norm")
    board.put(norm, "dnnl")
    assert board.stats == {"offloaded": 3, "host": 3, "regions": 1}, "neighbours are one region"
    assert board.partitioned is not None
    assert sum("Compiler" in f.attrs for f in board.partitioned.functions.values()) == 1
    assert not board.findings
    board.take_out(norm)
    assert board.stats["regions"] == 2
    board.undo()
    board.undo()
    assert set(board.chosen) == {conv, relu}
    assert "nn.conv2d" in str(board)


def test_requests_of_the_browser_change_the_board() -> None:
    board = byoc_lab.board(network())
    (conv, _) = calls(board, "nn.conv2d")
    ident = state_and_ids(board.trace)[1].get(conv)
    board.request = {"node": ident, "compiler": "dnnl", "ticket": 1}
    assert board.chosen == {conv: "dnnl"}
    assert board.state["board"]["inside"] == {state_and_ids(board.trace)[1].get(conv): "dnnl"}
    board.request = {"node": "n9999", "compiler": "dnnl", "ticket": 2}
    assert board.chosen == {conv: "dnnl"}
    board.request = {"undo": True, "ticket": 3}
    assert board.chosen == {}


def test_page_receives_the_rewrites_of_the_board() -> None:
    board = byoc_lab.board(network())
    for name in ("nn.conv2d", "nn.batch_norm"):
        board.put(calls(board, name)[0], "dnnl")
    board.index = board.trace["MergeCompilerRegions"].index
    step = shown_step(board, 1)
    ids = {ident for _, ident in board.state["modules"][0]["lines"]}
    assert ids <= {ident for _, ident in step["modules"][0]["lines"]}
    board.undo()
    assert board.rewrite == 0


def test_undo_and_redo_state_their_change() -> None:
    board = byoc_lab.board(network())
    conv, _ = calls(board, "nn.conv2d")
    assert (board.undo(), board.redo()) == ("", "")
    board.put(conv, "dnnl")
    board.take_out(conv)
    leave = board.undo()
    assert leave.startswith("leave nn.conv2d(") and leave.endswith(" to the host")
    assert board.chosen == {conv: "dnnl"}
    shown = board.state["board"]
    assert shown["redo"] == leave and shown["done"] == f"Undone: {leave}."
    assert shown["undo"].startswith("put nn.conv2d(")
    assert shown["undo"].endswith(" into a region of dnnl")
    board.request = {"redo": True, "ticket": 1}
    assert board.chosen == {} and board.state["board"]["done"] == f"Done again: {leave}."
    board.undo()
    board.undo()
    assert board.state["board"]["undo"] == ""
    board.put(conv, "ccompiler")
    assert board.state["board"]["redo"] == "", "another change leaves nothing to redo"


def test_back_end_with_the_operators_of_most_calls_is_offered_first() -> None:
    x = relay.var("x", shape=(4,))
    both = relay.IRModule.from_expr(relay.add(x, x))
    for mod, first, second in (
        (network(), "dnnl", "ccompiler"),
        (both, "ccompiler", "dnnl"),  # a tie: sorted by name
    ):
        offered = byoc_lab.board(mod).state["board"]["back_ends"]
        assert offered.index(first) < offered.index(second)


def test_fix_is_previewed_applied_and_undone() -> None:
    board = byoc_lab.board(network())
    repair = byoc_lab.fix(annotated(fixed=False))
    assert repair
    board.apply(repair)
    assert board.module is repair.after
    assert not board.findings
    board.undo()
    assert board.stats["regions"] == 0
    assert not board.fix(), "nothing to repair"


def test_browser_can_preview_and_apply_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    board = byoc_lab.board(network())
    board.request = {"fix": "preview", "ticket": 1}
    assert board.preview["steps"] == []
    repair = byoc_lab.fix(annotated(fixed=False))
    monkeypatch.setattr(board, "fix", lambda: repair)
    board.request = {"fix": "preview", "ticket": 2}
    assert board.preview["steps"] == list(repair.steps)
    assert "\n+ " in board.preview["diff"]
    board.request = {"fix": "dismiss", "ticket": 3}
    assert board.preview == {}
    board.request = {"fix": "apply", "ticket": 4}
    assert board.stats["regions"] == 0, "only a previewed fix is applied"
    board.request = {"fix": "preview", "ticket": 5}
    board.request = {"fix": "apply", "ticket": 6}
    assert board.module is repair.after
    assert board.preview == {}
    assert board.stats["regions"] > 0
    board.request = {"undo": True, "ticket": 7}
    assert board.stats["regions"] == 0


def test_board_refuses_annotated_modules_unknown_names_and_foreign_nodes() -> None:
    with pytest.raises(ArgumentError, match="without annotations"):
        byoc_lab.board(annotated(fixed=True))
    with pytest.raises(ArgumentError, match="found Function"):
        byoc_lab.board(network()["main"])
    board = byoc_lab.board(network())
    (conv, _) = calls(board, "nn.conv2d")
    with pytest.raises(UnknownNameError, match="'dnll'"):
        board.put(conv, "dnll")
    with pytest.raises(UnknownNodeError, match=r"board\.plain"):
        board.put(calls(byoc_lab.board(network()), "nn.conv2d")[0], "dnnl")
