// Package reports shows what was done: in a range of time, in sessions, to a file, for a commit, and how two sessions
// differ. The facts come from the index and from internal/show; here they become tables and texts.
package reports
