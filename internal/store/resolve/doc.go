// Package resolve computes the result of a merge without changing anything: its inputs, the lines that one
// side gets from the other, and the resulting tree. The merge itself, the completion of a merge by git, and
// the audit of both use the same result.
package resolve
