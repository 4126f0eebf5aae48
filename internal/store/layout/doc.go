// Package layout says what things are called, on disk and in git, and what an entry is:
// names, kinds, slugs, trailers, drafts and the classes of errors. It does no I/O.
package layout
