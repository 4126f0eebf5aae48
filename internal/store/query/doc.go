// Package query answers questions about a tape: its phases, an overview, entries by position, what is
// new since a read mark, and what two revisions do not share.
package query
