//go:build unix

package agentstest

import (
	"os"
	"testing"
)

// programs is the folder in which npm has put the agents; test.sh does that.
func programs() string { return os.Getenv("TAPE_AGENTS") }

// tapeProgram is the tape that is tried.
func tapeProgram() string { return os.Getenv("TAPE_PROGRAM") }

func TestAgents(t *testing.T) {
	if programs() == "" {
		t.Skip("needs the agents themselves: make test-agents")
	}
	for _, a := range agents() {
		t.Run(a.name, func(t *testing.T) {
			b := newBox(t, a, talk())
			t.Log(b.ask("say hello"))
			t.Log(b.goOn("three things"))
			for _, e := range b.model.Exchanges() {
				t.Logf("%s %q side %v told %d said %v done %v", e.Path, e.Prompt, e.Side, len(e.Told), e.Said, e.Done)
			}
			t.Log(b.model.Unknown(), b.transcripts())
		})
	}
}
