//go:build race

package testkit

// Raced says that the race detector is on: SQLite in Go is twenty times slower with it.
const Raced = true
