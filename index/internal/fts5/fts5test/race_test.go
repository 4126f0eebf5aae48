//go:build race

package fts5test

// shorter divides sizes: the race detector makes SQLite twenty times slower.
const shorter = 20
