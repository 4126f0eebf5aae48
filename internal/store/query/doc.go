// Package query answers questions about a tape: its phases, an overview, entries by place, what
// is new since a mark, what two revisions do not share.
package query
