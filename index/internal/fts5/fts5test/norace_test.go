//go:build !race

package fts5test

const shorter = 1
