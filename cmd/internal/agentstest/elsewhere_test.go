//go:build unix && extra

package agentstest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/agentstest/model"
)

// TestElsewhere moves a session from the agent that made it to each other agent in turn. Each goes on with it and knows
// all that came before, and the tape has everything once.
func TestElsewhere(t *testing.T) {
	if programs() == "" {
		t.Skip("needs the agents themselves: make test-agents")
	}
	for _, from := range append(everyone(), cline(), copilot()) { // sessions are not written for the last two
		for _, calls := range []int{5, 500} {
			t.Run(fmt.Sprintf("%s/%d calls", from.name, calls), func(t *testing.T) { chain(t, from, calls) })
		}
	}
}

// everyone returns the agents for which sessions can be written.
func everyone() []agent { return append(agents(), qwen(), pi()) }

// counting has a prompt with many calls, and one for each agent that goes on.
func counting(calls int) model.Script {
	script := model.Script{}
	var steps []model.Step
	for i := range calls {
		steps = append(steps, model.Step{Text: fmt.Sprintf("Number %d comes now.", i), Calls: []model.Call{shell(fmt.Sprintf("echo counted-%d", i))}})
	}
	script["count up"] = append(steps, model.Step{Text: "All were counted."})
	for _, a := range everyone() {
		script["what now in "+a.name] = []model.Step{
			{Text: "In " + a.name + " I look.", Calls: []model.Call{shell("echo seen-in-" + a.name)}}, {Text: "It goes on in " + a.name + "."},
		}
	}
	return script
}

// chain moves a session with many calls through all agents.
func chain(t *testing.T, from agent, calls int) {
	b := newBox(t, from, counting(calls))
	b.patience += time.Duration(calls) * 2 * time.Second
	b.install()
	b.ask("count up")
	b.recorded()
	for _, to := range everyone() {
		if to.name == from.name {
			continue
		}
		b.become(to)
		b.install()
		said := len(b.conversation(false))
		id := b.moveTo(to)
		b.command(to.path(), to.session(id, "what now in "+to.name)...)
		b.knows("what now in "+to.name, b.conversation(false)[:said])
		b.recorded()
		b.compare(false)
		if list := b.tapes(""); len(list) != 1 {
			b.fatalf("the session is on the tapes %v, not on one", list)
		}
		b.tape("", "verify")
	}
}

// become changes the agent in the box.
func (b *box) become(a agent) {
	b.t.Helper()
	b.agent, b.model.Call = a, a.call
	for name, text := range a.settings(b) {
		b.write(name, text)
	}
}

// recorded waits until everything is on the tape, and imports it again.
func (b *box) recorded() {
	b.t.Helper()
	b.tape("", "record", "sync")
	b.tape("", append([]string{"import"}, b.agent.files(b)...)...)
}

// moveTo writes the session for another agent, and returns its id there.
func (b *box) moveTo(a agent) string {
	b.t.Helper()
	var out struct{ Session string }
	text := b.tape("", "resume", "1", "--in", a.name, "--json")
	b.must(json.Unmarshal([]byte(text), &out))
	b.t.Logf("%s", strings.TrimSpace(text))
	return out.Session
}

// knows checks that the first request for a prompt had all of a conversation, in order.
func (b *box) knows(prompt string, conversation []model.Item) {
	b.t.Helper()
	for _, e := range b.model.Exchanges() {
		if e.Prompt != prompt || e.Side {
			continue
		}
		at := 0
		for _, want := range conversation {
			i := at
			for i < len(e.History) && !says(e.History[i], want) {
				i++
			}
			if i == len(e.History) {
				b.fatalf("%s does not tell the model, after item %d of %d: %+v", b.agent.name, at, len(e.History), want)
			}
			at = i
		}
		return
	}
	b.fatalf("%s sent no request for the prompt %q", b.agent.name, prompt)
}

// says reports whether an item of a request has the text of an item that another agent was told or said. Ids, and what
// wraps a result, may differ.
func says(got, want model.Item) bool {
	if got.Kind != want.Kind {
		return false
	}
	switch want.Kind {
	case model.Asked:
		return strings.HasSuffix(want.Name, got.Name) && sameJSON(got.Text, want.Text)
	case model.Result:
		return strings.Contains(told(got.Text), strings.TrimSpace(told(want.Text)))
	}
	return strings.Contains(got.Text, want.Text)
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}
