// Package channels runs the channels of an agent: what comes in becomes turns, what a turn says
// goes out.
//
// A message is safe on disk before its channel is told that it is taken. Before the answer is
// sent, the ids of the messages that it answers are written into the file "answered". So after
// a crash a message whose id is there is not answered again, and the tape says that nobody
// knows whether the answer arrived; all others get their turn, with the id that they had, by
// which the agent finds what it has recorded of it.
package channels
