// Package view derives from a tape what a model sees: the messages of its next call. They are built again each time
// and never stored.
//
// # The mapping
//
// [Build] begins with an anchor, the latest unless Options.From names another, and takes what follows. After the
// latest anchor, it first puts the earlier entries that no writer of an anchor had seen, because they come from
// another side of a merge or pull: see repo.Tape.Context. It reads no other entries.
//
//   - An anchor becomes a message of the assistant, "[Anchor created: NAME]: STATE".
//   - A message entry becomes its payload, a tool_call entry a message of the assistant
//     with the calls, each result of a tool_result entry a tool message.
//   - Entries of all other kinds are left out, including system: they record which prompt was
//     used, and whoever calls the model sends their own. Entries with context:false in meta are
//     left out, whatever their kind.
//
// JSON that goes into text, such as a state or a structured result, is the stored JSON without white space and
// needless escapes. A result that is a string stays as it is.
//
// Results belong to the calls that call_ids in meta names. Without call_ids, they belong by position to the latest
// calls without a result.
//
// With Options.Raw that is all. Otherwise the messages are repaired, so that no provider refuses them:
//
//   - Results follow their calls directly, and each call has one. A call without a result gets
//     a stand-in that says so. A result without its call, or a second result of a call, becomes
//     a message of the user that says so; if it repeats the same words, it is left out.
//   - Calls recorded twice, in a message and in an entry of their own, are shown once. Ids and
//     names of tools that a provider would refuse are changed; repeated ids are made unique
//     where necessary.
//   - Of system messages with the same text, only the first is kept.
//   - Members of a message that the provider does not know are dropped. Parts in the form of one
//     provider become those of the other, or a text that names them if there is no equivalent.
//   - A message of the assistant without content is left out, and so is reasoning; the format
//     Anthropic keeps what Anthropic has signed.
//
// # Anthropic
//
// Content is always an array of blocks. Consecutive items with one role become one message of several blocks, in
// which results come first. Anchors are messages of the user, because the user must begin. If the conversation
// begins with the assistant nevertheless, a short note is put in front. System messages go to Context.System.
//
// # Bounds
//
// A turn begins with a message of the user, or with the anchor before it, and lasts until the next. Bounds leave
// out whole turns, the oldest first, so that an exchange with a tool is never cut. The opening anchor and system
// messages always stay. If the last turn does not fit, that is an error: half of it would be another conversation.
//
// Tokens are estimated from the messages' JSON, without a tokenizer: 4 bytes of ASCII are one token, any other
// character is one, each message or block costs 4 more, and an image, file or audio 1,600 instead of its data.
//
// # Prompt caches
//
// The same tape gives the same bytes, in every clone. Appending entries only extends them: without the closing
// brackets, an array is a prefix of the later one. The exception is the stand-in of a call, which the result
// replaces. Bounds move the beginning, in steps of whole turns. So the array does not say what was left out; the
// LeftOut of a Context does.
package view
