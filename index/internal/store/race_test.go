//go:build race

package store_test

// shorter divides sizes: the race detector makes SQLite twenty times slower.
const shorter = 20
