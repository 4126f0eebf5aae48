// Package hooks is the contract between an agent runtime that lives on tapes and its plugins.
//
// A message comes in through a channel as an [Envelope]. [Runtime.Process] makes a turn of it.
// Each step is a hook, and a [Plugin] has a function for each hook that it implements.
//
//	resolve_session    whose message it is
//	load_state         what the plugins share in the turn
//	build_prompt       what the model is asked
//	run_model_stream   the answer, event by event; or run_model, the answer as a text
//	save_state         always, also if the model failed or the turn was cancelled
//	render_outbound    the messages that go out
//	dispatch_outbound  each of them
//
// A hook that nobody implements has a default, which the methods of [Runtime] name. The turns
// of one session follow one another; sessions run side by side.
//
// # Who is asked
//
// The plugin that was registered last is asked first; a higher [Plugin.Priority] comes before
// that. Of a hook that wants one answer, the first that is not "none" counts, also if it is
// empty; "none" is nil. Of a hook that wants many, all answers count, in that order.
//
// # Errors
//
// An error of a hook ends the turn, and so does a panic, which is taken for one. Observers
// ([Plugin.OnError]) are told, and [Runtime.Process] returns it. Errors of observers and of the
// four hooks around calls of models and tools end nothing: they are logged, the plugin is
// skipped, and observers are told once. Where [Plugin.Required] is set, an error of a hook around
// a call denies the call. If nobody runs a model, observers are told and the answer is the prompt.
// [ErrorMessages] is the observer that lets the sender of a message know.
//
// [Runtime.Report] tells who implements what, how often each was asked, how long that took, and
// what failed.
//
// The semantics are those of Bub (https://bub.build, "Turn pipeline" and "Hooks").
package hooks
