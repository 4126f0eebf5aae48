package hooks_test

import (
	"context"
	"fmt"

	"tape/hooks"
)

var sessionRules = []rule{
	{
		name:    "resolve_session: nobody answers, so the message's own session is used",
		message: hooks.Envelope{"session_id": "mine", "channel": "tg", "chat_id": "7", "content": "hi"},
		plugins: []*hooks.Plugin{echo(), session(nil)},
		want:    []string{`save "mine asked \"hi\""`, `sent mine asked "hi" channel=tg chat_id=7 kind=normal`},
	}, {
		name:    "resolve_session: nobody answers, channel and chat make the session",
		message: hooks.Envelope{"channel": "tg", "chat_id": 7, "content": "hi"},
		plugins: []*hooks.Plugin{echo()},
		want:    []string{`save "tg:7 asked \"hi\""`, `sent tg:7 asked "hi" channel=tg chat_id=7 kind=normal`},
	}, {
		name:    "resolve_session: an id that is a number in JSON stays as it is",
		message: hooks.Envelope{"channel": "tg", "chat_id": -1001234567890.0, "content": "hi"},
		plugins: []*hooks.Plugin{echo()},
		want:    []string{`save "tg:-1001234567890 asked \"hi\""`, `sent tg:-1001234567890 asked "hi" channel=tg chat_id=-1001234567890 kind=normal`},
	}, {
		name:    "resolve_session: a missing channel and chat are called default",
		plugins: []*hooks.Plugin{echo()},
		want:    []string{`save "default:default asked \"hi\""`, `sent default:default asked "hi" kind=normal`},
	}, {
		name:    "resolve_session: a missing chat alone is called default",
		message: hooks.Envelope{"channel": "tg", "content": "hi"},
		plugins: []*hooks.Plugin{echo()},
		want:    []string{`save "tg:default asked \"hi\""`, `sent tg:default asked "hi" channel=tg kind=normal`},
	}, {
		name:    "resolve_session: the last registered plugin is asked first, and overrides the message's own session",
		message: hooks.Envelope{"session_id": "mine", "content": "hi"},
		plugins: []*hooks.Plugin{echo(), session(new("first")), session(new("second"))},
		want:    []string{`save "second asked \"hi\""`, `sent second asked "hi" kind=normal`},
	}, {
		name:    "resolve_session: a nil answer leaves the decision to the next plugin",
		plugins: []*hooks.Plugin{echo(), session(new("first")), session(nil)},
		want:    []string{`save "first asked \"hi\""`, `sent first asked "hi" kind=normal`},
	}, {
		name:    "resolve_session: an empty answer ends the search, and the default is used",
		plugins: []*hooks.Plugin{echo(), session(new("first")), session(new(""))},
		want:    []string{`save "default:default asked \"hi\""`, `sent default:default asked "hi" kind=normal`},
	}, {
		name:    "resolve_session: after an empty answer, the message's own session is used",
		message: hooks.Envelope{"session_id": "mine", "content": "hi"},
		plugins: []*hooks.Plugin{echo(), session(new(""))},
		want:    []string{`save "mine asked \"hi\""`, `sent mine asked "hi" kind=normal`},
	}, {
		name: "resolve_session: a priority goes before the order of registration",
		plugins: []*hooks.Plugin{
			echo(),
			{Name: "high", Priority: 1, ResolveSession: func(context.Context, hooks.Envelope) (*string, error) { return new("high"), nil }},
			session(new("late")),
		},
		want: []string{`save "high asked \"hi\""`, `sent high asked "hi" kind=normal`},
	}, {
		name: "resolve_session: the id is written into the message",
		plugins: []*hooks.Plugin{echo(), session(new("s")),
			{BuildPrompt: func(_ context.Context, m hooks.Envelope, _ string, _ hooks.State) (*hooks.Prompt, error) {
				return &hooks.Prompt{Text: m.Text("session_id")}, nil
			}}},
		want: []string{`save "s asked \"s\""`, `sent s asked "s" kind=normal`},
	},
}

var stateRules = []rule{
	{
		name:    "load_state: the plugin that is asked first wins",
		plugins: []*hooks.Plugin{stateValue("k"), state(hooks.State{"k": "low"}), state(hooks.State{"k": "high"})},
		want:    []string{`save "high"`, `sent high kind=normal`},
	}, {
		name:    "load_state: a key that only the lower plugin has stays",
		plugins: []*hooks.Plugin{stateValue("k"), state(hooks.State{"k": "low"}), state(hooks.State{"other": 1}), state(nil)},
		want:    []string{`save "low"`, `sent low kind=normal`},
	}, {
		name:    "load_state: a zero value wins, too",
		plugins: []*hooks.Plugin{stateValue("k"), state(hooks.State{"k": "low"}), state(hooks.State{"k": 0})},
		want:    []string{`save "0"`, `sent 0 kind=normal`},
	}, {
		name:    "load_state: a plugin may set the workspace",
		plugins: []*hooks.Plugin{stateValue(hooks.StateWorkspace), state(hooks.State{"_runtime_workspace": "/there"})},
		want:    []string{`save "/there"`, `sent /there kind=normal`},
	},
}

var promptRules = []rule{
	{
		name:    "build_prompt: nobody answers, so the content is the prompt",
		plugins: []*hooks.Plugin{echo(), prompt(nil)},
		want:    []string{`save "default:default asked \"hi\""`, `sent default:default asked "hi" kind=normal`},
	}, {
		name:    "build_prompt: the first answer is used",
		plugins: []*hooks.Plugin{echo(), prompt(&hooks.Prompt{Text: "low"}), prompt(&hooks.Prompt{Text: "high"}), prompt(nil)},
		want:    []string{`save "default:default asked \"high\""`, `sent default:default asked "high" kind=normal`},
	}, {
		name:    "build_prompt: an empty answer ends the search, and the content is the prompt",
		plugins: []*hooks.Plugin{echo(), prompt(&hooks.Prompt{Text: "low"}), prompt(&hooks.Prompt{})},
		want:    []string{`save "default:default asked \"hi\""`, `sent default:default asked "hi" kind=normal`},
	}, {
		name:    "build_prompt: an empty list of parts is an empty answer",
		plugins: []*hooks.Plugin{echo(), prompt(&hooks.Prompt{Text: "low"}), prompt(&hooks.Prompt{Parts: []hooks.Part{}})},
		want:    []string{`save "default:default asked \"hi\""`, `sent default:default asked "hi" kind=normal`},
	}, {
		name:    "build_prompt: a prompt may have parts",
		plugins: []*hooks.Plugin{echo(), prompt(&hooks.Prompt{Parts: parts("see")})},
		want:    []string{`save "default:default asked [map[text:see type:text]]"`, `sent default:default asked [map[text:see type:text]] kind=normal`},
	}, {
		name:    "build_prompt: the content may have parts as decoded from JSON",
		message: hooks.Envelope{"content": []any{map[string]any{"type": "text", "text": "see"}}},
		plugins: []*hooks.Plugin{echo()},
		want:    []string{`save "default:default asked [map[text:see type:text]]"`, `sent default:default asked [map[text:see type:text]] kind=normal`},
	}, {
		name:    "build_prompt: without content, the prompt is empty",
		message: hooks.Envelope{},
		plugins: []*hooks.Plugin{echo()},
		want:    []string{`save "default:default asked \"\""`, `sent default:default asked "" kind=normal`},
	},
}

const nobody = "on_error run_model: no plugin has run the model"

var modelRules = []rule{
	{
		name: "run_model: nobody runs it, a text prompt is returned as it is",
		plugins: []*hooks.Plugin{
			prompt(&hooks.Prompt{Text: "built"}), model(nil), noStream(),
		},
		want: []string{nobody, `save "built"`, `sent built kind=normal`},
	}, {
		name: "run_model: no plugin has it",
		want: []string{nobody, `save "hi"`, `sent hi kind=normal`},
	}, {
		name:    "run_model: nobody runs it, parts are returned as the message's content",
		plugins: []*hooks.Plugin{prompt(&hooks.Prompt{Parts: parts("built")})},
		want:    []string{nobody, `save "hi"`, `sent hi kind=normal`},
	}, {
		name:    "run_model: nobody runs it, and the content has parts: their texts are returned",
		message: hooks.Envelope{"content": append(parts("one", "two"), hooks.Part{"type": "image_url"})},
		want:    []string{nobody, `save "one\ntwo"`, "sent one\ntwo kind=normal"},
	}, {
		name:    "run_model: the first answer is used",
		plugins: []*hooks.Plugin{model(new("low")), model(new("high")), model(nil)},
		want:    []string{`save "high"`, `sent high kind=normal`},
	}, {
		name:    "run_model: an empty answer is an answer",
		plugins: []*hooks.Plugin{model(new("low")), model(new(""))},
		want:    []string{`save ""`, `sent  kind=normal`},
	}, {
		name: "run_model: a plugin says why there is no model, and the turn goes on",
		plugins: []*hooks.Plugin{
			{Name: "ai", RunModel: func(context.Context, hooks.Prompt, string, hooks.State) (*string, error) {
				return nil, fmt.Errorf("%w: set TAPE_MODEL", hooks.ErrNoModel)
			}},
		},
		want: []string{`on_error run_model: plugin "ai": run_model: no plugin has run the model: set TAPE_MODEL`, `save "hi"`, `sent hi kind=normal`},
	},
}

var both = &hooks.Plugin{RunModel: model(new("as text")).RunModel, RunModelStream: streaming(nil, hooks.Text("as stream")).RunModelStream}

var streamRules = []rule{
	{
		name:    "run_model: the text deltas of a stream are joined, other events are ignored",
		plugins: []*hooks.Plugin{streaming(nil, hooks.Text("a"), hooks.Event{Kind: hooks.EventReasoning, Data: map[string]any{"delta": "x"}}, hooks.Text("b"))},
		want:    []string{`save "ab"`, `sent ab kind=normal`},
	}, {
		name:    "run_model_stream: a text is one event",
		stream:  true,
		plugins: []*hooks.Plugin{model(new("whole"))},
		want:    []string{`event text map[delta:whole]`, `save "whole"`, `sent whole kind=normal`},
	}, {
		name:    "run_model_stream: each event is shown before the turn goes on",
		stream:  true,
		plugins: []*hooks.Plugin{streaming(nil, hooks.Text("a"), hooks.Text("b"), hooks.Event{Kind: hooks.EventFinal, Data: map[string]any{"text": "ab"}})},
		want:    []string{`event text map[delta:a]`, `event text map[delta:b]`, `event final map[text:ab]`, `save "ab"`, `sent ab kind=normal`},
	}, {
		name:    "run_model_stream: the first answer is used, even if it has no events",
		stream:  true,
		plugins: []*hooks.Plugin{streaming(nil, hooks.Text("low")), streaming(nil), noStream()},
		want:    []string{`save ""`, `sent  kind=normal`},
	}, {
		name:    "run_model_stream: the plugin that is asked first decides: a text before a stream",
		stream:  true,
		plugins: []*hooks.Plugin{streaming(nil, hooks.Text("stream")), model(new("text"))},
		want:    []string{`event text map[delta:text]`, `save "text"`, `sent text kind=normal`},
	}, {
		name:    "run_model: the plugin that is asked first decides: a stream before a text",
		plugins: []*hooks.Plugin{model(new("text")), streaming(nil, hooks.Text("stream"))},
		want:    []string{`save "stream"`, `sent stream kind=normal`},
	}, {
		name:    "run_model_stream: nobody streams, so run_model answers",
		stream:  true,
		plugins: []*hooks.Plugin{model(new("text")), noStream()},
		want:    []string{`event text map[delta:text]`, `save "text"`, `sent text kind=normal`},
	}, {
		name:    "run_model: nobody answers with a text, so a stream is used",
		plugins: []*hooks.Plugin{streaming(nil, hooks.Text("stream")), model(nil)},
		want:    []string{`save "stream"`, `sent stream kind=normal`},
	}, {
		name:    "a plugin that has both is asked for a text",
		plugins: []*hooks.Plugin{both},
		want:    []string{`save "as text"`, `sent as text kind=normal`},
	}, {
		name:    "a plugin that has both is asked for a stream if somebody watches",
		stream:  true,
		plugins: []*hooks.Plugin{both},
		want:    []string{`event text map[delta:as stream]`, `save "as stream"`, `sent as stream kind=normal`},
	}, {
		name:    "run_model_stream: observers are told of an error event, and the turn goes on",
		plugins: []*hooks.Plugin{streaming(nil, hooks.Text("a"), hooks.Event{Kind: hooks.EventError, Data: map[string]any{"message": "overloaded"}}, hooks.Text("b"))},
		want:    []string{`on_error run_model: overloaded`, `save "ab"`, `sent ab kind=normal`},
	},
}
