"""The closure in lanes: 64 sources at a time, one machine word for each component that they reach.

**The object.** Every strongly connected component of a digraph has a *number*. Number ``x`` is also a *lane*: bit
``x % 64`` of *stripe* ``x // 64``. In a stripe, the *word* of component ``d`` has bit ``b`` iff the component in
lane ``b`` reaches ``d``. The stripes together are the closure as a Boolean block matrix, 64 rows to a block.
(Tests use narrower stripes, down to one lane: they find what 64 lanes hide.)

**One solution.** The condensation is acyclic, so the words of one stripe are the only solution of

    word[d] = own[d] | OR of word[p] over the predecessors p of d,      own[d] = the bit of d in its own stripe,

and *a stripe never asks another stripe*. Building and every batch are the same small work in each stripe by itself.

**A batch** takes the graph G to H = G - deleted + inserted, by way of M = G - deleted.

1. *G to M.* A component that lost an inner edge may fall apart. Its largest part keeps the number, the others get
   free numbers and start with the word of the whole. Now every word is at least what M asks for: paths only went.
2. *Shrink* (from above). Components are looked at in a topological order of M, first the heads of deleted edges and the
   parts of broken components. A word is worked out anew from its predecessors; if it got smaller, the successors
   are looked at, too. A component that is not looked at has the predecessors and the words of these that it had, so
   its equation still holds; one that was looked at holds by construction, and its predecessors come before it. So
   all equations of M hold at the end, and there is only one solution.
3. *M to H.* Components on a new cycle become one. Its word is the OR of their words, all but one of their lanes are
   cleared, and their numbers are free. Now every word is at most what H asks for: paths only came.
4. *Grow* (from below). Words are ORed into successors along inserted edges, out of merged components and out of
   new lanes, and from there on wherever a word got larger. When nothing changes any more, every word
   contains those of its predecessors, and no bit is there without a path: again the one solution.

**Cost.** The words that change in the stripes that change, times the edges at their components; to find these stripes,
a search backwards from the changed tails, or a look at every stripe, whichever ends first (`batch.concerned`). Where a
sample of many stripes says that a build takes less, all are built. A column is read from the stripes that an index
names (`columns`), which is made when the first is asked for.

**Kept form** (`stripes`). The bit ``own`` is not stored: a component reaches itself. Neighbouring numbers with
the same word are one entry; a stripe with hardly a pair to an entry keeps a key for each pair. Numbers are given so
that entries are few (`numbering`). Stripes are values: a batch writes new ones behind all others in their pool,
and a version of the closure is the arrays that say where its stripes are. So whoever asks holds a whole
version, without a lock, whatever happens to the next one.
"""
