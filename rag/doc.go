// Package rag finds the code that a request is about.
//
// # What it does
//
// An Index holds the text files of one folder: Bleve keeps which words stand in which
// chunk, a manifest keeps what each file defines. A query is a sentence, code, or both.
// Several rankers judge every file (BM25 over chunks, path, names of definitions,
// identifiers, past commits, co-change, tests, references, what the person looks at);
// their weighted sum orders the files, and the lines themselves decide which windows
// of each are shown. The answer is a Set (a RetrievalSet): each Item with its span, its
// score, and the rankers that found it.
//
// It indexes in the background, answers at any moment, survives being killed, and
// follows branch switches and unsaved buffers through Update.
//
// # What it doesn't do
//
// It decides nothing about which files may be seen (Source does), calls no model and no
// network, and starts no program but git, with everything that a repository's own
// configuration could make git run switched off. It promises nothing about an index
// that another process has open: that process keeps it, this one makes a private one.
//
// # Invariants
//
//   - RAG-1: the same files, history and query give the same Set, whatever the order and
//     the batches in which they were indexed (TestSameStateSameSet).
//   - RAG-2: what Update has returned for is found, what was removed is not
//     (TestUpdateIsSearchableWhenItReturns).
//   - RAG-3: References finds what reading every file would (TestReferencesEqualBruteForce).
//   - RAG-4: a damaged, outdated or locked index costs time, never service
//     (TestDamagedIndexIsRebuilt, TestTornManifest, TestSecondProcessGetsItsOwn,
//     TestUnwritableFolderKeepsTheIndexInMemory).
//   - RAG-5: queries do not wait for indexing (TestSearchDuringIndexing,
//     TestBeforeIndexingTheFilesAreSearched).
//   - RAG-6: every line of a file is in exactly one chunk (FuzzChunks).
//   - RAG-7: only HEAD's ancestors count as history (TestHistoryIsOfHeadAlone), and
//     nothing that a repository names is run (TestHistoryRunsNothingOfTheRepository).
//   - RAG-8: no rank of the golden questions changes unseen (TestRankGolden).
//   - RAG-9: what the past says of a word only bends what its rareness says
//     (TestTrustIsBounded).
//
// # Reading order
//
// query.go and item.go (what goes in and out), index.go and build.go (an index's life),
// analyze.go with token.go, lang.go, defs.go, chunk.go (a file to what is indexed of
// it), lexical.go (the only file that knows Bleve), then search.go: parse.go, lexscore.go,
// trust.go, histscore.go, rank.go (the table of rankers and weights), graph.go,
// snippet.go, explain.go. lookup.go, batch.go and text.go stand for themselves.
package rag
