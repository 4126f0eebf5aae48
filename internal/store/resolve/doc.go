// Package resolve works out what a merge comes to, without changing anything: its inputs, the
// lines that one side gets from the other, and the tree with them. The same answer serves the
// merge itself, the completion of one that git made, and the audit of both.
package resolve
