// Package upkeep removes what nobody needs any more: idle working trees, and locks, temporary files and
// tags that interrupted commands left.
package upkeep
