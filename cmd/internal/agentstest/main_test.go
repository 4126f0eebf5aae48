//go:build unix && extra

package agentstest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// programs returns the folder in which test.sh has installed the agents; "" if there is none.
func programs() string { return os.Getenv("TAPE_AGENTS") }

// tapeProgram returns the path of the tape that is tested.
func tapeProgram() string { return os.Getenv("TAPE_PROGRAM") }

// outcomes are the rows of the table that is printed at the end: how each trial ended.
var outcomes []string

func TestMain(m *testing.M) {
	code := m.Run()
	if len(outcomes) > 0 {
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		for _, line := range append([]string{"\nAGENT\tCASE\tOUTCOME"}, outcomes...) {
			fmt.Fprintln(w, line)
		}
		if w.Flush() != nil {
			code = 1
		}
	}
	os.Exit(code)
}

func TestAgents(t *testing.T) {
	if programs() == "" {
		t.Skip("needs the agents themselves: make test-agents")
	}
	for _, a := range append(everyone(), cline(), copilot(), kimi(), grok()) {
		for _, c := range trials() {
			if a.cases != nil && !slices.Contains(a.cases, c.name) {
				continue
			}
			t.Run(a.name+"/"+c.name, func(t *testing.T) {
				b := newBox(t, a, c.script(a))
				b.install()
				c.run(b)
			})
		}
	}
}

// tell adds the trial to the table.
func (b *box) tell() {
	_, name, _ := strings.Cut(b.t.Name(), "/")
	outcomes = append(outcomes, strings.NewReplacer("/", "\t", "_", " ").Replace(name)+"\t"+b.outcome())
}

// outcome says in the table how the trial ended.
func (b *box) outcome() string {
	reason, _, _ := strings.Cut(b.reason, "\n")
	switch {
	case b.t.Skipped():
		return "skipped: " + reason
	case b.t.Failed():
		return fmt.Sprintf("FAILED: %.150s", reason)
	}
	return "ok"
}

func (b *box) fatalf(format string, arg ...any) {
	b.t.Helper()
	b.reason = fmt.Sprintf(format, arg...)
	b.t.Fatal(b.reason)
}

func (b *box) skip(reason string) {
	b.t.Helper()
	b.reason = reason
	b.t.Skip(reason)
}

func (b *box) must(err error) {
	b.t.Helper()
	if err != nil {
		b.fatalf("%v", err)
	}
}
