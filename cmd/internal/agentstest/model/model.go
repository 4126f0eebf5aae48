// Package model is a fake language model whose answers come from a script. It serves the four APIs that coding
// agents use: Anthropic's Messages, OpenAI's Responses and chat completions, and Gemini's. It keeps all
// requests and answers, so that a test can compare them with what was recorded.
//
// It has no state between requests: the answer follows from the history in the request. So a session
// that is killed, resumed or forked gets the right answer.
package model

import (
	"slices"
	"strings"
	"time"
)

// A Script has the answers to each prompt, one for each request. A prompt is found anywhere in a user's
// message, so no prompt may contain another.
type Script map[string][]Step

// A Step is one answer.
type Step struct {
	Think  string
	Text   string
	Calls  []Call
	Tokens int           // reported as used; a high number makes an agent compact its history
	Pause  time.Duration // before each piece of the answer
}

// A Call asks for one of the agent's tools.
type Call struct {
	Tool string // one of the constants below
	Arg  string // the command, the task, or the arguments as JSON
}

// Tools as scripts call them. Each agent has its own names for them.
const (
	Shell = "shell" // Arg: a command
	Agent = "agent" // Arg: what a subagent is to do
	Wait  = "wait"  // waits for the subagent, in agents that have a call for it
	Done  = "done"  // Arg: what a subagent has found, in agents that report it by a call
	MCP   = "mcp"   // Arg: the tool's name, a space, its arguments as JSON
)

// Unscripted is the answer if the script has none.
const Unscripted = "There is nothing more to say."

// An Item is a part of a history, in a form common to all APIs.
type Item struct {
	Kind string // User, Answer, Asked or Result
	ID   string // of the call
	Name string // of the tool
	Text string // what was said, the arguments, or the result
}

// Kinds of items: Answer is a text or thought of the model, Asked is a call.
const (
	User   = "user"
	Answer = "answer"
	Asked  = "asked"
	Result = "result"
)

// An Exchange is one request with its answer.
type Exchange struct {
	Path    string
	Prompt  string // the prompt of the script; "" for side requests, and if none was found
	First   bool   // the prompt has no answer yet
	Side    bool   // a request for a title or a summary, which is not part of the conversation
	History []Item // the history that the agent sent
	Reply   []Item // the answer, without its thought
	Done    bool   // the answer was sent to its end
}

// find returns the last prompt in a history, "" if there is none, and the number of answers to it.
func (s Script) find(history []Item) (prompt string, step int) {
	for i, h := range slices.Backward(history) {
		if h.Kind != User {
			continue
		}
		if prompt = s.promptIn(h.Text); prompt != "" {
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

// answers counts the model's answers. Everything up to the next item that is not the model's is one answer.
func answers(history []Item) int {
	n, inAnswer := 0, false
	for _, item := range history {
		fromModel := item.Kind == Answer || item.Kind == Asked
		if fromModel && !inAnswer {
			n++
		}
		inAnswer = fromModel
	}
	return n
}

// step returns the answer to a history. A compacted history may have the prompt without its answers: the
// answer that filled the context is not given again.
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
