// Package repair finds damage in the working tree of a tape and in the repository itself, and repairs it.
//
// What git has is restored from git. Of the uncommitted entries, every undamaged line stays. An
// acknowledged entry whose line is gone or damaged is replaced by an event repair.lost with its id, so
// that ids have no gaps or repeats. The damaged files are set aside first.
package repair
