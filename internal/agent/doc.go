// Package agent is the built-in plugin of an agent runtime: comma commands, prompts, skills, and
// the loop in which a model answers and calls tools. All of it is recorded on a tape.
//
// # What a turn records
//
// A session is a tape. The entries of a turn come in this order: system, if it differs from the
// last one; the user's message; then for each step what the assistant says before its calls,
// tool_call, tool_result, error, its answer, the event run with status and usage, and the event
// loop.step with status ok, continue, error or auto_handoff. Before an auto_handoff comes its anchor,
// and after it the prompt again. An entry is durable before its consequences: the prompt before the
// model is called, a call before its tool runs, a result before the model gets it, the answer before
// it is delivered. What belongs together (an answer with its run and its step) is one transaction.
//
// # A turn that is repeated
//
// Each entry's meta has the message_id of the turn's message. If a turn was interrupted, by kill -9
// or a power cut, and the message is delivered again with the same message_id, the turn finds what
// it has recorded and goes on from there:
//
//   - A turn that had ended is not run again: its answer or its error is returned again. A turn
//     that was cancelled goes on, because the message was sent again to get an answer.
//   - A call without a result gets an error as its result, which says that it was interrupted. It is
//     never run again: nobody can tell how far it had come, and the model can check. The fork of a
//     subagent that had not ended is discarded.
//   - A call of the model whose answer was not recorded is made again.
//   - A comma command that had started is not run again; the answer says that it was interrupted.
//
// The tape is searched for the message over the last [turnsBack] turns, and at most [entriesBack]
// entries of other turns.
package agent
