// Package hooks is the contract between an agent runtime that keeps its sessions on tapes and its
// plugins.
//
// A message comes in through a channel as an [Envelope], and [Runtime.Process] runs a turn for it.
// Each step is a hook, and a [Plugin] has a function for each hook that it implements.
//
//	resolve_session    the session that the message belongs to
//	load_state         the state that the plugins share during the turn
//	build_prompt       the prompt for the model
//	run_model_stream   the answer as events; or run_model, the answer as a text
//	save_state         after the model, also if it failed or the turn was cancelled
//	render_outbound    the messages to send
//	dispatch_outbound  sends one of them
//
// A hook that no plugin implements has a default, which the methods of [Runtime] describe. Turns
// of one session run one after the other; different sessions run in parallel.
//
// # Order
//
// Plugins with a higher [Plugin.Priority] are asked first. Of two with the same priority, the one that was
// registered later is asked first. Plugins that are part of the program ([Plugin.Internal]) are asked after
// all others. In the hooks around calls of models and tools, guards ([Plugin.Required]) come last, so that
// they see the call with the changes of the others. A hook with one answer takes the first that is not
// nil, even if it is empty. A hook with many answers takes all of them, in this order.
//
// # Errors
//
// An error or a panic in a hook ends the turn: observers ([Plugin.OnError]) get the error, and
// [Runtime.Process] returns it. Errors of observers and of the four hooks around calls of models
// and tools do not end the turn: they are logged, the plugin is skipped, and observers are told
// once. An error in such a hook of a guard denies the call. If no plugin runs the model, observers
// are told, and the answer is the prompt. Observers are also told of an answer that no plugin has
// sent. [ErrorMessages] is the observer that tells the sender of the message.
//
// [Runtime.Report] says which plugins implement each hook, how often each was asked, how long that
// took, and what failed.
//
// The semantics are those of Bub (https://bub.build, "Turn pipeline" and "Hooks").
package hooks
