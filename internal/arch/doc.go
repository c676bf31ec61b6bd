// Package arch holds the house against its plan: which package may import
// which, and what the pure ones may not touch. It has tests only.
package arch
