"""Init of the decremental closure: the products of every node, from the leaves up, by distributed multiplication."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dyntc_spark.blocks.grid import Grid
from dyntc_spark.blocks.local import LocalBackend, LocalState
from dyntc_spark.blocks.rings import BOOLEAN
from dyntc_spark.blocks.single_task import Made
from dyntc_spark.blocks.state import Backend, State
from dyntc_spark.blocks.superstep import Kind, Operation
from dyntc_spark.blocks.where import Tile
from dyntc_spark.edges import Edges, EdgeSet
from dyntc_spark.engines.deterministic.munro import Leaves, Munro, Node, Products, kinds
from dyntc_spark.engines.transfer import made_by_one_process
from dyntc_spark.kernels import bits, codec
from dyntc_spark.kernels.block import Bits, Block
from dyntc_spark.kernels.ids import Words
from dyntc_spark.kernels.leaf_closure import closed
from dyntc_spark.matrices.counted_product import CountedProduct
from dyntc_spark.matrices.tile_operations import CopyTile, PasteTile, ReadTile, init_tile
from dyntc_spark.progress import Progress, progress

#: Factors while a product is made; they exist during Init only.
FACTORS = ("T1", "T2")


def build(edges: Edges, grid: Grid, depth: int, backend: Backend, *, here: bool, budget: float = np.inf) -> Munro:
    """Close a digraph; ``here`` lets one process work it out, on Spark a task.

    Six products a node: seven with the superstep that lays a factor out.
    """
    wanted = kinds(grid, depth)
    if here:
        state, told = made_by_one_process(backend, "Init*", wanted, partial(_made, edges, grid, depth))
        leaves = {
            node.start: (_words(told.get(2 * node.start), node), _words(told.get(2 * node.start + 1), node))
            for node in _leaves(Node.root(grid.shape[0], depth, grid.down.step), grid, depth)
        }
    else:
        work = _worked_out(edges, grid, depth, backend)
        state, leaves = work.state.select({name: name for name in wanted}), work.leaves
    return Munro(state, EdgeSet.of(edges), leaves, grid, depth, budget)


def _made(edges: Edges, grid: Grid, depth: int) -> Made:
    """Close a digraph in this process; tell X and X* of each leaf."""
    work = _worked_out(edges, grid, depth, LocalBackend())
    state = work.state.select({name: name for name in kinds(grid, depth)})
    assert isinstance(state, LocalState)  # noqa: S101  (of the local backend)
    told = {2 * start + which: _bits(words[which]) for start, words in work.leaves.items() for which in (0, 1)}
    return state, told


def _worked_out(edges: Edges, grid: Grid, depth: int, backend: Backend) -> _Build:
    """Work out all nodes on a backend."""
    working = {**kinds(grid, depth), "X0": Kind(grid, BOOLEAN), **dict.fromkeys(FACTORS, Kind(grid, BOOLEAN))}
    working |= {f"X{depth}": Kind(grid, BOOLEAN)}
    first = LocalBackend().from_entries((edges.sources, edges.targets), working["X0"], "X0")
    rest = {name: kind for name, kind in working.items() if name != "X0"}
    start = first.join(LocalState(first.backend, rest, {name: {} for name in rest}))
    with progress("closure: Init*", 6 * (2**depth - 1)) as shown:
        work = _Build(start if isinstance(backend, LocalBackend) else backend.from_local(start), grid, depth, shown)
        work.node(Node.root(grid.shape[0], depth, grid.down.step))
    return work


def _leaves(node: Node, grid: Grid, depth: int) -> list[Node]:
    if node.is_leaf:
        return [node]
    return [leaf for child in node.children(depth, grid.down.step) for leaf in _leaves(child, grid, depth)]


def _bits(words: Words) -> Block:
    return Bits((len(words), len(words)), words)


def _words(block: Block | None, node: Node) -> Words:
    """Return the packed rows of a leaf."""
    if block is None:
        return bits.zeros(len(node.all), len(node.all))
    dense = codec.densify(block)
    assert isinstance(dense, Bits)  # noqa: S101  (a Boolean block)
    return dense.words


@dataclass
class _Build:
    state: State
    grid: Grid
    depth: int
    progress: Progress
    leaves: Leaves = field(default_factory=dict)

    def node(self, node: Node) -> None:
        """Work out a node whose X is there."""
        here, below = node.depth, node.depth + 1
        if node.is_leaf:
            whole = Tile(self.grid, node.all, node.all)
            (words,) = self.run(ReadTile(f"X{here}", whole))
            self.leaves[node.start] = words, closed(words)
            self.run(PasteTile(f"Y{here}", whole, self.leaves[node.start][1]))
            return
        head, tail = node.first, node.second
        first, second = node.children(self.depth, self.grid.down.step)
        x, y, v, w = f"X{here}", f"Y{below}", f"V{here}", f"W{here}"
        products = Products.of(node, self.grid)
        self.run(CopyTile(x, f"X{below}", self.tile(tail, tail)))
        self.node(second)
        self.multiply(products.bp, tail)
        self.multiply(products.pc, tail)
        self.multiply(products.q, tail, plus=x)
        self.run(CopyTile(v, f"X{below}", self.tile(head, head)))
        self.node(first)
        self.multiply(products.f, head)
        self.multiply(products.g, head)
        self.multiply(products.h, head, plus=y)
        self.run(
            CopyTile(y, f"Y{here}", self.tile(head, head)),
            CopyTile(w, f"Y{here}", self.tile(head, tail)),
            CopyTile(w, f"Y{here}", self.tile(tail, head)),
            CopyTile(v, f"Y{here}", self.tile(tail, tail)),
        )

    def multiply(self, product: CountedProduct, inner: range, plus: str | None = None) -> None:
        """Count a product over these inner indices, and one more where ``plus`` has an entry."""
        self.state = init_tile(self.state, product, inner, FACTORS, plus)
        self.progress.advance()

    def run(self, *operations: Operation[Any]) -> tuple[Any, ...]:
        """One superstep."""
        self.state, results = self.state.run(*operations)
        return results

    def tile(self, rows: range, columns: range) -> Tile:
        """A tile of the grid."""
        return Tile(self.grid, rows, columns)
