// Package hooks is the contract between an agent runtime that lives on tapes and its plugins.
//
// A message comes in through a channel as an [Envelope]. [Runtime.Process] makes a turn of it:
// it finds the session, loads the state, builds the prompt, runs the model, saves the state,
// renders what goes out and dispatches it. Each step is a hook, and a [Plugin] has a function
// for each hook that it implements.
//
// # Who is asked
//
// The plugin that was registered last is asked first; a higher [Plugin.Priority] comes before
// that. Of a hook that wants one answer, the first that is not "none" counts, also if it is
// empty; "none" is nil. Of a hook that wants many, all answers count, in that order. An error
// of a hook ends the turn, except an observer's ([Plugin.OnError]) and those of the four hooks
// around calls of models and tools, which are logged and skipped.
//
// The semantics are those of Bub (https://bub.build, "Turn pipeline" and "Hooks").
package hooks
