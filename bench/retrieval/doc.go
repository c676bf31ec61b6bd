// Command retrieval measures how well the index finds the files that a change
// touched, given nothing but the words of its commit.
//
// A case is a commit of a public repository: its message is the query, the source
// files that it modified are what should be found, and the tree that is searched is
// its parent's, with a history that ends there. See README.md for how to run it.
package main
