//go:build race

package index

// raced: SQLite in Go is many times slower under the race detector.
const raced = true
