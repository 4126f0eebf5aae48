// Package writer changes tapes. A [Writer] holds a tape's lock and knows where the tape ends;
// [Tx] is a change of several steps; [Writer.MoveTo] is the one way in which a branch gets to
// another commit. What an interrupted writer left is put right by the next one.
package writer
