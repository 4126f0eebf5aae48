package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/hooks"
	"tape/repo/view"
)

// errStopped says that the caller has stopped reading.
var errStopped = errors.New("the caller has stopped reading the answer")

// maxAnswer is the longest text of an answer, and the longest arguments of a call, in bytes: a server may never end
// them.
const maxAnswer = 16 << 20

// answer collects an answer from the pieces that the APIs send.
type answer struct {
	model string                 // provider:model
	limit int                    // the max_tokens of the request; 0: none
	emit  func(hooks.Event) bool // returns false when the caller has stopped reading
	tools []hooks.Tool

	begun     bool // a piece of the text was emitted
	text      strings.Builder
	reasoning strings.Builder
	refusal   strings.Builder
	think     thinkTags
	calls     []*toolCall
	byIndex   map[int]*toolCall // the call to which pieces with an index belong
	usage     map[string]any
	reason    string // why the model has stopped, in the server's words
	ended     bool   // the server has said that the answer is complete

	kept      Kept                         // without By and Calls
	thoughtIn string                       // the member in which a chat completion has its reasoning
	pieces    map[string][]json.RawMessage // of other members that the server wants back
	blockAt   []int                        // the indexes of Anthropic's thoughts
	blockText []*[2]strings.Builder        // of each, its text and its signature
	spoken    bool                         // the text of a response came in pieces
	thinking  bool                         // and its reasoning
}

func (a *answer) send(kind string, data map[string]any) error {
	if !a.emit(hooks.Event{Kind: kind, Data: data}) {
		return errStopped
	}
	return nil
}

// addText adds a piece of the answer's text. Thoughts at its beginning, in tags, are reasoning.
func (a *answer) addText(delta string) error {
	thought, said := a.think.split(delta)
	if err := a.addReasoning(thought); err != nil || said == "" {
		return err
	}
	return a.say(said)
}

func (a *answer) say(delta string) error {
	a.text.WriteString(delta)
	if a.text.Len() > maxAnswer {
		return fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20)
	}
	a.begun = true
	return a.send(hooks.EventText, map[string]any{"delta": delta})
}

func (a *answer) addReasoning(delta string) error {
	if delta == "" {
		return nil
	}
	if a.reasoning.WriteString(delta); a.reasoning.Len() > maxAnswer {
		return fmt.Errorf("the reasoning is longer than %d MiB", maxAnswer>>20)
	}
	return a.send(hooks.EventReasoning, map[string]any{"delta": delta})
}

// The reasons to stop that servers give besides those of a complete answer, in lower case.
var (
	cutReasons    = []string{"length", "max_tokens", "max_output_tokens", "max_completion_tokens"}
	windowReasons = []string{"model_context_window_exceeded", "context_length_exceeded", "model_length"}
	filterReasons = []string{"content_filter", "content-filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "sensitive", "guardrail_intervened"}
	errorReasons  = []string{"error", "network_error", "abort", "aborted", "failed", "cancelled", "malformed_function_call", "unexpected_tool_call", "insufficient_system_resource", "server_error", "timeout"}
)

func (a *answer) stoppedBy(list []string) bool {
	return slices.Contains(list, strings.ToLower(a.reason))
}

// complete returns why what was received is not an answer; nil if it is one.
func (a *answer) complete() error {
	named := slices.ContainsFunc(a.calls, func(t *toolCall) bool { return t.name != "" })
	given := "with finish_reason " + a.reason
	if a.reason == "" {
		given = "and gave no reason"
	}
	switch {
	case a.stoppedBy(windowReasons):
		return &failure{code: a.reason, text: "the model stopped: " + a.reason}
	case a.stoppedBy(errorReasons):
		return &failure{text: "the server broke the answer off, " + given, passing: true}
	case a.refusal.Len() > 0 || strings.EqualFold(a.reason, "refusal"):
		said := strings.TrimSpace(a.refusal.String())
		if said != "" {
			said = ": " + said
		}
		return &failure{text: "the model refuses to answer" + said, way: "say it in other words, or choose another model"}
	case a.stoppedBy(filterReasons):
		return &failure{text: "the answer was stopped by a filter of the server, " + given, way: "say it in other words, or choose another model"}
	case !a.ended:
		return &failure{text: "the answer broke off: the stream ended without its last event", passing: true}
	case !named && len(a.tools) > 0 && isCallText(a.text.String()):
		return &failure{text: "the model wrote a call of a tool as text, which its server has not read",
			way: "start the server with a parser for this model's calls: llama.cpp has --jinja, vLLM --enable-auto-tool-choice and --tool-call-parser; or choose another model"}
	case strings.TrimSpace(a.text.String()) != "" || named:
		return nil
	case a.stoppedBy(cutReasons):
		return &failure{text: "the model has used all its output" + tokens(a.limit) + " before it answered", cause: ErrCut, way: "raise the setting max_tokens, or ask for less at once"}
	case len(a.calls) > 0:
		return &failure{text: "the model called a tool without a name, and said nothing, " + given, way: "send the message again, or choose another model"}
	case a.reasoning.Len() > 0:
		return &failure{text: "the model has only thought, and answered nothing, " + given, way: "send the message again, or choose another model"}
	}
	return &failure{text: "the model answered nothing, " + given, way: "send the message again, or choose another model"}
}

// isCallText reports whether a text is a call in the words of a model's template, which servers should read
// (NousResearch/hermes-agent#83023, jundot/omlx#2221).
func isCallText(text string) bool {
	text = strings.TrimSpace(text)
	for _, tag := range []string{"<tool_call>", "<function=", "[TOOL_CALLS]", "<|tool_call", "<｜tool▁calls▁begin｜>", "<minimax:tool_call>"} {
		if strings.HasPrefix(text, tag) {
			return true
		}
	}
	return strings.HasSuffix(text, "</tool_call>") && strings.Contains(text, "\n<tool_call>")
}

func tokens(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" of %d tokens", n)
}

// finish sends the calls, the usage and the final event. If the caller stops reading, it returns nil. by is the model
// that may get back what it wants kept.
func (a *answer) finish(by string) error {
	cut := a.stoppedBy(cutReasons)
	var own []string
	for i, t := range a.calls {
		data := map[string]any{"id": t.id, "name": a.ownName(t.name), "arguments": t.arguments}
		if t.name == "" {
			continue
		}
		// Servers may have mended what was cut, so the last call counts as cut in any case (ahwurm/localharness#77).
		if cut && (i == len(a.calls)-1 || !isObject(t.arguments)) {
			data[CallCut] = true
		}
		if a.send(hooks.EventToolCall, data) != nil {
			return nil
		}
		own = append(own, t.id)
	}
	if a.usage != nil && a.send(hooks.EventUsage, a.usage) != nil {
		return nil
	}
	data := map[string]any{"text": a.text.String(), "ok": true, "model": a.model}
	if cut {
		data[FinalCut] = a.limit
	}
	if a.reasoning.Len() > 0 {
		data[FinalReasoning] = a.reasoning.String()
	}
	a.keeps()
	if len(own) > 0 && (len(a.kept.Message) > 0 || len(a.kept.Call) > 0 || len(a.kept.Before) > 0 || a.kept.Prefix != "") {
		a.kept.By, a.kept.Calls = by, own
		data[FinalKept] = a.kept
	}
	_ = a.send(hooks.EventFinal, data) // nothing follows
	return nil
}

// ownName returns the own name of the tool that the model knows by [view.ToolName].
func (a *answer) ownName(name string) string {
	for _, t := range a.tools {
		if view.ToolName(t.Name) == name {
			return t.Name
		}
	}
	return name
}

// thinkTags finds thoughts in tags at the beginning of a text, as models write them behind servers that do not take
// them out: https://github.com/ggml-org/llama.cpp (--reasoning-format), https://docs.vllm.ai (reasoning outputs).
type thinkTags struct {
	held  string // not decided yet, or the possible beginning of the closing tag
	open  string // the closing tag, while the thoughts last
	tags  [2]string
	said  bool // the answer has begun
	after bool // only white space has come since the thoughts
}

func thinkingTags() [][2]string {
	return [][2]string{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"}}
}

// split returns what is thought and what is said in the next piece of a text.
func (t *thinkTags) split(delta string) (thought, said string) {
	if t.said {
		return "", delta
	}
	t.held += delta
	if t.open == "" {
		begin := strings.TrimLeft(t.held, " \t\r\n")
		possible := begin == ""
		for _, tag := range thinkingTags() {
			if rest, ok := strings.CutPrefix(begin, tag[0]); ok {
				t.tags, t.open, t.held = tag, tag[1], strings.TrimLeft(rest, "\r\n")
				break
			}
			possible = possible || strings.HasPrefix(tag[0], begin)
		}
		if t.open == "" {
			switch {
			case possible:
				return "", ""
			case t.after:
				t.held = begin
			}
			t.said = true
			said, t.held = t.held, ""
			return "", said
		}
	}
	thought, rest, closed := strings.Cut(t.held, t.open)
	if !closed {
		n := unfinished(t.held, t.open)
		thought, t.held = t.held[:len(t.held)-n], t.held[len(t.held)-n:]
		return thought, ""
	}
	t.open, t.held, t.after = "", "", true
	more, said := t.split(rest)
	return strings.TrimRight(thought, "\r\n") + more, said
}

// rest returns what was held back at the end of a text.
func (t *thinkTags) rest() (thought, said string) {
	held := t.held
	t.held = ""
	switch {
	case t.open != "":
		return held, ""
	case t.after:
		return "", ""
	}
	return "", held
}

// unfinished returns how many bytes at the end of a text may be the beginning of a tag.
func unfinished(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}
