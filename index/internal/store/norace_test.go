//go:build !race

package store_test

const shorter = 1
