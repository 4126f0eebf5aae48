// Package audit decides whether a history keeps the promises of the format. tape verify, git's hooks
// and everything that comes from a remote use the same walk over commits and the same step from one
// commit to the next. A policy says whether to collect violations or to stop at the first, and how
// far the source is trusted.
package audit
