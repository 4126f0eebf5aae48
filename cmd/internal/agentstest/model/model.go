// Package model is a language model that says what a script has for it, in the four
// dialects that coding agents speak: Anthropic's Messages, OpenAI's Responses and chat
// completions, and Gemini's. It keeps what it was told and what it said, so that a test
// can compare with what was recorded.
//
// It keeps no state between requests: what to say next follows from the history in the
// request. A session that is killed, resumed or forked gets the right answer therefore.
package model

import (
	"slices"
	"strings"
	"time"
)

// A Script has, for each prompt, the answers to it, one a request. A prompt is found
// as a part of a user's message, so none may be a part of another.
type Script map[string][]Step

// A Step is one answer.
type Step struct {
	Think  string
	Text   string
	Calls  []Call
	Tokens int           // of the request, as reported; makes an agent compact its history
	Pause  time.Duration // before each of the pieces in which the answer is sent
}

// A Call asks for one of the agent's tools.
type Call struct {
	Tool string // one of the words below
	Arg  string // the command, the task, or the arguments as JSON
}

// Tools by the words that scripts use; each agent has names of its own for them.
const (
	Shell = "shell" // Arg: a command
	Agent = "agent" // Arg: what a subagent is to do
	Wait  = "wait"  // for the subagent, where that takes a call
	Done  = "done"  // Arg: what a subagent has found, where saying so takes a call
	MCP   = "mcp"   // Arg: the tool's name, a space, its arguments as JSON
)

// Unscripted is the answer where the script has none.
const Unscripted = "There is nothing more to say."

// An Item is a part of a history, in the words common to all dialects.
type Item struct {
	Kind string // User, Answer, Asked or Result
	ID   string // of the call
	Name string // of the tool
	Text string // what was said, the arguments, or the result
}

// Kinds of items. A text or thought of the model is an Answer, a call is Asked.
const (
	User   = "user"
	Answer = "answer"
	Asked  = "asked"
	Result = "result"
)

// An Exchange is one request with its answer.
type Exchange struct {
	Path   string
	Prompt string // of the script; empty for side requests and where none was found
	First  bool   // the prompt has no answer yet
	Side   bool   // a title or a summary: no turn of the conversation
	Told   []Item // the whole history as the agent sent it
	Said   []Item
	Done   bool // the answer was sent to its end
}

// find returns the prompt which the history answers and how many answers it has got.
func (s Script) find(history []Item) (prompt string, step int) {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Kind != User {
			continue
		}
		if prompt = s.promptIn(history[i].Text); prompt != "" {
			return prompt, answers(history[i+1:])
		}
	}
	return "", 0
}

func (s Script) promptIn(text string) string {
	found, at := "", -1
	for prompt := range s {
		if i := strings.LastIndex(text, prompt); i > at {
			found, at = prompt, i
		}
	}
	return found
}

// answers counts the model's turns: what it said up to the next result is one.
func answers(history []Item) int {
	n, own := 0, false
	for _, item := range history {
		now := item.Kind == Answer || item.Kind == Asked
		if now && !own {
			n++
		}
		own = now
	}
	return n
}

// step returns what to say to the history. One that has been compacted may have the prompt
// without its answers: the answer that led to it is not given again.
func (s Script) step(history []Item, summary string) (prompt string, n int, out Step) {
	prompt, n = s.find(history)
	steps := s[prompt]
	compacted := slices.ContainsFunc(history, func(i Item) bool { return strings.Contains(i.Text, summary) })
	for compacted && n < len(steps) && steps[n].Tokens > 0 {
		n++
	}
	if n < len(steps) {
		return prompt, n, steps[n]
	}
	return prompt, n, Step{Text: Unscripted}
}
