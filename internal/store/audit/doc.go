// Package audit tells whether a history keeps the promises of the format. One walk over the
// commits and one step from each to the next serve tape verify, git's hooks and what comes from
// a remote; a policy says whether to collect or to stop, and how far the source is trusted.
package audit
