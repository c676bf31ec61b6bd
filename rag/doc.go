// Package rag finds the code that a request is about.
package rag
