// Package upkeep takes away what nobody needs any more: idle working trees, locks, temporary
// files and tags that were left behind.
package upkeep
