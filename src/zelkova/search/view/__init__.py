"""Looks into a finished search: its tree as pictures and lines, and why it chose its action."""

from zelkova.search.view.branches import Branch as Branch
from zelkova.search.view.branches import read_branches as read_branches
from zelkova.search.view.explain import Explanation as Explanation
from zelkova.search.view.explain import explain as explain
from zelkova.search.view.tree_view import TreeView as TreeView
