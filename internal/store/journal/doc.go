// Package journal reads and writes the record in a tape's lock file: where the tape ends, and what to undo
// after a crash.
package journal
