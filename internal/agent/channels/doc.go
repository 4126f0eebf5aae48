// Package channels runs an agent's channels: messages that come in become turns, and their answers
// are sent.
//
// A message is stored on disk before its channel is told that it was accepted. Before an answer is
// sent, the ids of the messages that it answers are written to the journal, the file "answered". If
// the program is then interrupted, these messages are not answered again, and the tape says that
// the answer may not have arrived. All others get their turn, with the same message_id, by which
// the agent finds what it has already recorded.
package channels
