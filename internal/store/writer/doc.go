// Package writer changes tapes. A [Writer] holds a tape's lock and knows where the tape ends; [Tx] is a change of
// several steps; [Writer.MoveTo] moves a branch in all other cases. A writer first repairs what an
// interrupted one left. [Init] creates a workspace with its first tape.
package writer
