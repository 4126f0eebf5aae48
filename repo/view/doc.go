// Package view derives from a tape what a model gets to see: the messages of its next
// call. They are made each time and never stored.
//
// # The mapping
//
// [Build] begins with an anchor, the latest unless Options.From names another one, and
// takes what follows. Behind the latest anchor it first puts the entries before it that no
// anchor's writer had seen, because a merge or a pull brought them in beside it: see
// repo.Tape.Context. It reads those entries and nothing else.
//
//   - An anchor becomes a message of the assistant, "[Anchor created: NAME]: STATE".
//   - A message entry becomes its payload, a tool_call entry a message of the assistant
//     with the calls, each result of a tool_result entry a tool message.
//   - Entries of all other kinds are left out, system among them: they record which
//     prompt was used, and whoever calls the model sends their own. Entries with
//     context:false in meta are left out, whatever their kind.
//
// JSON that goes into text, a state or a structured result, is the stored bytes without
// white space and needless escapes. A result that is a string stands as it is.
//
// Results belong to the calls that call_ids in meta names; without it, to those of the
// latest calls that have none yet, by position.
//
// Options.Raw stops here. Otherwise the following is mended as well, so that no provider
// refuses what comes out:
//
//   - Results stand right behind their calls, each call has one. A call without a result
//     gets a stand-in that says so. A result without its call, or one of a call that has
//     another result already, becomes a message of the user that says so; said twice
//     in the same words it is left out.
//   - Calls that are recorded twice, in a message and in an entry of their own, are shown
//     once. Ids and names of tools that a provider would refuse are made to fit; ids that
//     come back are distinguished where they have to be.
//   - System messages with the same text are kept once, where they came first.
//   - Members of a message that are not the provider's are dropped; parts of one provider
//     become those of the other, or text that names them where there is no such thing.
//   - A message of the assistant that says nothing is left out, and so is reasoning,
//     unless it is Anthropic's own and signed.
//
// # Anthropic
//
// Content is always an array of blocks. What the same side said in a row is one message
// of several blocks; results come first in theirs. Anchors are messages of the user, for
// that side has to begin; where nothing else of the user's does, a short note stands in
// front. System messages go to Context.System.
//
// # Bounds
//
// A turn begins with a message of the user, or with an anchor that one follows, and
// lasts until the next. Bounds leave out whole turns, the oldest first, so that an exchange
// with a tool is never cut. The opening anchor and system messages always stay. If the
// last turn does not fit, that is an error: half of it would be another conversation.
//
// Tokens are estimated without a tokenizer, of the messages' JSON: 4 bytes of ASCII are
// one, any other character is one, each message or block costs 4 more, and an image or
// file 1,600 instead of its data.
//
// # Prompt caches
//
// The same tape gives the same bytes, in every clone. Appending entries only extends them: without its
// closing brackets, the array is a prefix of the one after. The exception is the stand-in
// of a call, which the result replaces when it comes. Bounds move the beginning,
// in steps of turns. For that reason the array does not tell what was left out; the
// LeftOut of a Context does.
package view
