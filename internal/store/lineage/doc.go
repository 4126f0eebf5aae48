// Package lineage walks the history of commits: first parents, ancestors, where two histories
// diverge.
package lineage
