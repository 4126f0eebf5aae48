// Package agent is the built-in plugin of an agent runtime: comma commands, prompts, skills,
// and the loop in which a model answers and calls tools, all of it recorded on a tape.
//
// # What a turn records
//
// A session is a tape. The entries of a turn come in this order: system, if it is another than
// before; the user's message; then for each step tool_call, tool_result, error, the
// assistant's message, the event run with status and usage, and the event loop.step with
// status ok, continue, error or auto_handoff. An entry is durable before what follows from it
// happens: the prompt before the model is asked, a call before its tool runs, a result before
// the model gets it, the answer before it counts as given. What belongs together (an answer
// with its run and its step) is stored as one change.
//
// # A turn that is done again
//
// Each entry has in meta the message_id of the turn's message, so a turn that was interrupted,
// by kill -9 or by a power cut, and comes again with the same message_id, finds what it has
// recorded, and goes on from there:
//
//   - A turn that had ended is not run again: its answer, or its error, is given once more. A
//     turn that was cancelled goes on, for who hands it in again wants an answer.
//   - A call that has no result gets an error as its result, which says that it was
//     interrupted. It is never run again: nobody can tell how far it had come, and the model,
//     which is told, can look. The fork of a subagent that did not end is discarded.
//   - A call of the model whose answer was not recorded is made again.
//   - A comma command that had begun is not run again; the answer says that it was interrupted.
//
// How far back is looked for a message: [turnsBack] turns.
package agent
