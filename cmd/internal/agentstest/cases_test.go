//go:build unix && extra

package agentstest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tape/cmd/internal/agentstest/model"
	"tape/internal/testkit"
)

// A trial is one thing that happens to a session.
type trial struct {
	name   string // as it is in the table
	script func(a agent) model.Script
	run    func(b *box)
}

func trials() []trial {
	return []trial{
		{"tools", talk, func(b *box) { b.ask("three things"); b.proved() }},
		{"resume", talk, func(b *box) { b.ask("say hello"); b.proved(); b.goOn("three things"); b.proved() }},
		{"long answer", long, func(b *box) { b.ask("tell it all"); b.proved() }},
		{"subagent", func(a agent) model.Script { return a.subagent }, func(b *box) { b.ask("send a helper"); b.proved() }},
		{"compaction", full, (*box).compaction},
		{"two at once", pair, (*box).twoAtOnce},
		{"agent killed", slow, (*box).killedAgent},
		{"hook killed", slow, (*box).killedHook},
		{"no program", talk, (*box).missing},
		{"full disk", talk, (*box).fullDisk},
		{"mcp", askTape, (*box).askTape},
		{"uninstall", talk, (*box).uninstall},
		{"review of hooks", talk, (*box).review},
	}
}

func shell(command string) model.Call { return model.Call{Tool: model.Shell, Arg: command} }

// talk has calls one after the other, and in parallel.
func talk(agent) model.Script {
	return model.Script{
		"say hello": {
			{Think: "A shell will do.", Text: "I will say it.", Calls: []model.Call{shell("echo hello-from-tool")}},
			{Text: "It said hello-from-tool."},
		},
		"three things": {
			{Text: "One first.", Calls: []model.Call{shell("echo zero-of-three")}},
			{Text: "Three at once.", Calls: []model.Call{
				shell("sleep 0.3; echo one-of-three"), shell("echo two-of-three"), shell("echo three-of-three; exit 3"),
			}},
			{Text: "All three are done."},
		},
		"go on now": {{Text: "It goes on."}},
	}
}

// long has an answer of 300 KB with all kinds of characters. It does not repeat itself, because Gemini
// breaks off an answer that does.
func long(agent) model.Script {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "%x Äpfel, 苹果 %d \"more\" <b>.\n", sha256.Sum256([]byte{byte(i), byte(i >> 8)}), i)
	}
	return model.Script{"tell it all": {{Text: text.String() + "That is all."}}}
}

// full reports so many used tokens that the agent compacts its history within a turn, or after it.
func full(a agent) model.Script {
	script := talk(a)
	steps := []model.Step{
		{Text: "It is full now.", Tokens: a.window, Calls: []model.Call{shell("echo filled")}}, {Text: "There is room again."},
	}
	if a.name == "pi" { // pi looks only at the tokens of a turn's last answer
		steps[0].Tokens, steps[1].Tokens = 0, a.window
	}
	script["fill the window"] = steps
	return script
}

// pair is two sessions that take a while.
func pair(agent) model.Script {
	script := model.Script{}
	for _, name := range []string{"left", "right"} {
		script["the "+name+" one"] = []model.Step{
			{Text: "First, " + name + ".", Calls: []model.Call{shell("sleep 1; echo first-" + name)}},
			{Text: "Second, " + name + ".", Calls: []model.Call{shell("sleep 1; echo second-" + name)}},
			{Text: "Done, " + name + "."},
		}
	}
	return script
}

func (b *box) twoAtOnce() {
	left, right := b.begin("the left one"), b.begin("the right one")
	b.must(left.Wait())
	b.must(right.Wait())
	b.proved()
}

func (b *box) compaction() {
	if b.agent.summary != "" {
		b.model.Summary = b.agent.summary
	}
	b.ask("say hello")
	b.goOn("fill the window")
	b.goOn("go on now")
	b.proved()
	for _, e := range b.model.Exchanges() {
		if len(e.Reply) == 1 && e.Reply[0].Text == b.model.Summary {
			if anchors := b.tape("", "--tape", b.tapes("")[0], "anchors", "--json"); !strings.Contains(anchors, "reetings were exchanged") {
				b.fatalf("no anchor has the summary %q: %s", b.model.Summary, anchors)
			}
			return
		}
	}
	b.fatalf("%s did not compact its history", b.agent.name)
}

// askTape has the agent search its own tapes.
func askTape(a agent) model.Script {
	script := talk(a)
	script["what was said"] = []model.Step{
		{Text: "I look it up.", Calls: []model.Call{{Tool: model.MCP, Arg: `tape_search {"query":"hello-from-tool"}`}}},
		{Text: "It was found."},
	}
	return script
}

func (b *box) askTape() {
	b.install("--mcp")
	b.ask("say hello")
	b.proved()
	b.ask("what was said")
	b.proved()
	for _, item := range b.conversation(false) {
		if item.Kind == model.Result && strings.Contains(item.Text, "@") && strings.Contains(item.Text, "hello-from-tool") {
			return
		}
	}
	b.fatalf("no result of tape_search has hello-from-tool: %+v", b.conversation(false))
}

// uninstall checks that an uninstall restores the settings, and that nothing is recorded afterwards.
func (b *box) uninstall() {
	before := b.agent.settings(b)
	b.install() // installing twice changes nothing
	b.ask("say hello")
	b.proved()
	testkit.Pause(2 * time.Second) // for a second, the last hook reads what the agent writes at its end
	b.tape("", "record", "uninstall", b.agent.name)
	for name, want := range before {
		if got, err := os.ReadFile(filepath.Join(b.home, name)); err != nil || string(got) != want && name != b.agent.rewrites {
			b.fatalf("%s is not as it was: %v\n%s", name, err, got)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(b.home, ".cline", "hooks", "*")); len(left) > 0 {
		b.fatalf("hooks are left: %v", left)
	}
	recorded := b.dump("")
	b.goOn("three things")
	testkit.Pause(3 * time.Second)
	if now := b.dump(""); now != recorded {
		b.fatalf("the session is still recorded: %s", difference(now, recorded))
	}
}
