// Package repair finds what is damaged in the working tree of a tape, and puts it right.
//
// What git has is brought back from git. Of the entries that are not committed, every whole line
// stays. An acknowledged entry whose line is gone or damaged leaves its id to an event repair.lost,
// which says so, so that ids have neither gap nor repeat. The files as they were are set aside first.
package repair
