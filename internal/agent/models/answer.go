package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/hooks"
	"tape/internal/text/jsonl"
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
	over      bool   // and nothing can follow
	plain     bool   // thoughts were expected first, and did not come
	late      bool   // thoughts were shown as text, before a closing tag without an opening one
	bytes     []byte // the first bytes of a character
	half      string // the \uXXXX of a character's first half, whose second half is in the next event
	stray     string // a line that is of no event

	kept      Kept                         // without By and Calls
	thoughtIn string                       // the member in which a chat completion has its reasoning
	pieces    map[string][]json.RawMessage // of other members that the server wants back
	blockAt   []int                        // the indexes of Anthropic's thoughts
	blockText []*[2]strings.Builder        // of each, its text and its signature
	spoken    bool                         // the text of a response came in pieces
	listed    bool                         // calls came in tool_calls
	blocks    int                          // how many blocks of a message have begun
	order     []byte                       // of thoughts, texts and calls, as in [Kept.Order]
	texts     []int                        // as in [Kept.Texts]
	block     string                       // the type of the last block of a message
	thinking  bool                         // and its reasoning
	phase     string                       // of the last text of a response
	phases    []string                     // as in [Kept.Phases]
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
	if n := len(a.order); n == 0 || a.order[n-1] != 'x' {
		a.order, a.texts, a.phases = append(a.order, 'x'), append(a.texts, a.text.Len()), append(a.phases, a.phase)
	}
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
	filterReasons = []string{"content_filter", "content-filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "sensitive", "guardrail_intervened", "content_filtered", "image_safety", "image_prohibited_content", "image_recitation", "language"}
	errorReasons  = []string{"error", "network_error", "abort", "aborted", "failed", "cancelled", "malformed_function_call", "unexpected_tool_call", "insufficient_system_resource", "server_error", "timeout"}
)

// endThoughts makes a text of thoughts that did not end, although the model was taken for one that writes only the closing
// tag, and thoughts of what came before a closing tag without an opening one.
func (a *answer) endThoughts() error {
	if a.think.assumed && a.think.open != "" && a.text.Len() == 0 && len(a.calls) == 0 {
		var tags thinkTags
		thought, said := tags.split(a.reasoning.String())
		more, rest := tags.rest()
		a.reasoning.Reset()
		a.reasoning.WriteString(thought + more)
		a.think, a.plain = tags, true
		if said = strings.TrimSpace(said + rest); said != "" {
			return a.say(said)
		}
		return nil
	}
	if thought, said, found := lateTag(a.text.String()); found && a.reasoning.Len() == 0 {
		a.text.Reset()
		a.text.WriteString(said)
		a.reasoning.WriteString(thought)
		a.think.tags = thinkingTags()[0]
		a.late = true
	}
	return nil
}

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
	case !a.ended && a.stray != "" && !a.saidAnything():
		return &failure{text: "the server answered with what no model says: " + a.stray, passing: true}
	case !a.ended && named && !slices.ContainsFunc(a.calls, func(t *toolCall) bool { return !isObject(t.arguments) }): // earendil-works/pi#6225
		return nil
	case !a.ended:
		return &failure{text: "the answer broke off: the stream ended without its last event", passing: true}
	case !named && len(a.tools) > 0 && (isCallText(a.text.String()) || a.isBareCall(a.text.String())):
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
	if a.stoppedBy([]string{"tool_use", "tool_calls"}) { // the next try has the calls (earendil-works/pi#9681)
		return &failure{text: "the model answered nothing, " + given, passing: true}
	}
	return &failure{text: "the model answered nothing, " + given, way: "send the message again, or choose another model"}
}

// isCallText reports whether a text is a call in the words of a model's template, which servers should read
// (NousResearch/hermes-agent#83023, jundot/omlx#2221).
func isCallText(text string) bool {
	text = strings.TrimSpace(text)
	for _, tag := range []string{"<tool_call>", "<function=", "[TOOL_CALLS]", "<|tool_call", "<｜tool▁calls▁begin｜>", "<minimax:tool_call>", "<|channel|>commentary to=", "<|python_tag|>", "<function_calls>", "<invoke name="} {
		if strings.HasPrefix(text, tag) {
			return true
		}
	}
	const dsml = "DSML" // of DeepSeek, between bars of several kinds: sgl-project/sglang#40236, NousResearch/hermes-agent#54283
	if last := text[strings.LastIndexByte(text, '\n')+1:]; strings.HasPrefix(text, "<") && strings.Contains(text[:min(len(text), 20)], dsml) || strings.HasPrefix(last, "<") && strings.Contains(last[:min(len(last), 20)], dsml) {
		return true
	}
	return strings.HasSuffix(text, "</tool_call>") && strings.Contains(text, "\n<tool_call>")
}

// isBareCall reports whether a text is a call as JSON, of a tool that there is (ollama/ollama-vscode#20,
// NousResearch/hermes-agent#107125).
func (a *answer) isBareCall(text string) bool {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(inner, "json"), "```"))
	}
	if !isObject(text) || !a.knows(jsonl.GetString([]byte(text), "name")) {
		return false
	}
	return slices.ContainsFunc([]string{"arguments", "parameters", "args"}, func(name string) bool { return jsonl.IsObject(jsonl.Get([]byte(text), name)) })
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
	a.keepOrder(len(own))
	if len(own) > 0 && (len(a.kept.Message) > 0 || len(a.kept.Call) > 0 || len(a.kept.Before) > 0 || len(a.kept.Phases) > 0 || a.kept.Prefix != "") {
		a.kept.By, a.kept.Calls = by, own
		data[FinalKept] = a.kept
	}
	_ = a.send(hooks.EventFinal, data) // nothing follows
	return nil
}

// ownName returns the own name of the tool that the model knows by [view.ToolName]. Models also write the name space
// that their template gives to tools, and servers leave tokens of gpt-oss in a name (NorthlandPositronics/Cogtrix#2023).
func (a *answer) ownName(name string) string {
	bare, _, _ := strings.Cut(strings.TrimSpace(name), "<|")
	for _, space := range []string{"functions.", "functions:", "default_api.", "default_api:"} {
		bare = strings.TrimPrefix(bare, space)
	}
	for _, possible := range []string{name, bare} {
		for _, t := range a.tools {
			if view.ToolName(t.Name) == possible {
				return t.Name
			}
		}
	}
	return name
}

// nextBlock says that a block of the answer begins. What is said after a call or a thought is not part of the sentence
// before it.
func (a *answer) nextBlock(kind string) error {
	a.block = kind
	if text := a.text.String(); kind != "text" || text == "" || strings.HasSuffix(text, "\n") {
		return nil
	}
	a.text.WriteString("\n\n")
	return a.send(hooks.EventText, map[string]any{"delta": "\n\n"})
}
