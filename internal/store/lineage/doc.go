// Package lineage walks commits: first parents, ancestors, where two histories part.
package lineage
