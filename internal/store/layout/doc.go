// Package layout defines the names on disk and in git, and what an entry is: kinds, slugs, trailers,
// drafts, classes of errors and kinds of hints. It does no I/O.
package layout
